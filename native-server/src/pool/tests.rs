use std::sync::mpsc;
use std::time::Duration;

use heliograph_core::ErrorCode;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;

fn pool(threads: &str, queue: &str) -> Arc<Pool> {
    let mut settings = Settings::default();
    settings.set("computing_threads", threads).unwrap();
    settings.set("computing_queue", queue).unwrap();
    Arc::new(Pool::start(&settings, &Handle::current()).unwrap())
}

/// Has the pool run some work for a named asker.
fn ask(pool: &Arc<Pool>, name: &str, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<Result<()>> {
    tokio::spawn(pool.run(&Asker::new(name), Box::pin(work)))
}

/// Work that occupies a thread until it is released.
fn blocking() -> (mpsc::Sender<()>, impl Future<Output = ()> + Send + 'static) {
    let (go, wait) = mpsc::channel::<()>();
    let work = async move {
        let _ = wait.recv();
    };
    (go, work)
}

async fn until(check: impl Fn() -> bool) {
    let waiting = async {
        while !check() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(Duration::from_secs(20), waiting).await.unwrap();
}

/// Occupies the only thread of a pool.
async fn fill(pool: &Arc<Pool>) -> (mpsc::Sender<()>, JoinHandle<Result<()>>) {
    let (go, work) = blocking();
    let (begin, begun) = tokio::sync::oneshot::channel();
    let asked = ask(pool, "filler", async move {
        let _ = begin.send(());
        work.await;
    });
    begun.await.unwrap();
    (go, asked)
}

#[tokio::test]
async fn what_is_too_much_is_refused_with_a_time_and_whoever_gives_up_makes_room() {
    let pool = pool("1", "3");
    let (go, filler) = fill(&pool).await;
    let waiting: Vec<_> = (0..3).map(|_| ask(&pool, "a", async {})).collect();
    until(|| pool.inside() == 4).await;
    let refused = ask(&pool, "a", async {}).await.unwrap().unwrap_err();
    assert_eq!((refused.code, refused.retry_after), (ErrorCode::Busy, Some(5)));
    waiting[1].abort();
    until(|| pool.inside() == 3).await;
    let instead = ask(&pool, "a", async {});
    until(|| pool.inside() == 4).await;
    go.send(()).unwrap();
    filler.await.unwrap().unwrap();
    instead.await.unwrap().unwrap();
    until(|| pool.inside() == 0).await;
}

#[tokio::test]
async fn one_client_may_fill_the_line_and_gives_way_to_the_next() {
    let pool = pool("1", "4");
    let (go, filler) = fill(&pool).await;
    let mut greedy: Vec<_> = (0..4).map(|_| ask(&pool, "greedy", async {})).collect();
    until(|| pool.inside() == 5).await;
    let others = ["b", "c"].map(|name| ask(&pool, name, async {}));
    let turned_out = greedy.split_off(2);
    for refused in turned_out {
        assert_eq!(
            timeout(Duration::from_secs(20), refused).await.unwrap().unwrap().unwrap_err().code,
            ErrorCode::Busy
        );
    }
    assert_eq!(pool.inside(), 5);
    go.send(()).unwrap();
    filler.await.unwrap().unwrap();
    for asked in greedy.into_iter().chain(others) {
        asked.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_panic_ends_what_panicked_and_nothing_else() {
    let pool = pool("1", "4");
    #[allow(clippy::panic)]
    let panicked = ask(&pool, "a", async { panic!("told to") });
    assert!(panicked.await.unwrap_err().is_panic());
    ask(&pool, "a", async {}).await.unwrap().unwrap();
    assert_eq!(pool.inside(), 0);
}

#[tokio::test]
async fn what_waits_for_something_holds_no_thread() {
    let pool = pool("1", "4");
    let (tell, told) = tokio::sync::oneshot::channel::<()>();
    let waiting = ask(&pool, "a", async move {
        tokio::time::sleep(Duration::from_millis(1)).await;
        told.await.unwrap();
    });
    until(|| pool.inside() == 1).await;
    ask(&pool, "b", async {}).await.unwrap().unwrap();
    tell.send(()).unwrap();
    waiting.await.unwrap().unwrap();
}

/// A stream of many pieces must not be cut off because other clients ask for much.
#[tokio::test]
async fn what_has_begun_goes_on_although_the_line_is_full() {
    let pool = pool("1", "0");
    let (go, filler) = fill(&pool).await;
    assert!(ask(&pool, "a", async {}).await.unwrap().is_err());
    let goes_on = Asker { begun: true, ..Asker::new("a") };
    let piece = tokio::spawn(pool.run(&goes_on, Box::pin(async {})));
    go.send(()).unwrap();
    filler.await.unwrap().unwrap();
    piece.await.unwrap().unwrap();
}

#[tokio::test]
async fn who_waits_when_the_pool_stops_is_told() {
    let pool = pool("1", "4");
    let (go, filler) = fill(&pool).await;
    let waiting = ask(&pool, "a", async {});
    until(|| pool.inside() == 2).await;
    pool.stop();
    assert_eq!(waiting.await.unwrap().unwrap_err().code, ErrorCode::Unavailable);
    go.send(()).unwrap();
    filler.await.unwrap().unwrap();
}
