//! Tests of the assembled program.

use futures_util::FutureExt;

use crate::ErrorCode;
use crate::app::testing::TestRuntime;
use crate::engine::deployment::{Start, actor};
use crate::engine::runtime::{self, Runtime};
use crate::engine::settings::Settings;

/// Decision brand-fixed: the word is inside of DIDs and signed bytes.
#[test]
fn the_brand_is_written_at_the_first_start_and_no_later_start_has_another() {
    let rt = TestRuntime::start(&[("brand", "acme2")]);
    let start = |brand: &str| {
        let start = Start { brand: brand.to_owned(), key_checks: rt.environment().secrets.key_checks() };
        runtime::call(&*rt, actor().name, &start).now_or_never().expect("nothing waits in tests")
    };
    assert_eq!(start("acme2").unwrap().brand, "acme2");
    assert_eq!(start("svc").unwrap_err().code, ErrorCode::Conflict);
    assert_eq!(start("acme2").unwrap().brand, "acme2");
    let mut settings = Settings::default();
    for bad in ["a", "2acme", "Acme", "ac-me", "acmeacmeacmeacme2", ""] {
        assert!(settings.set("brand", bad).is_err(), "{bad}");
    }
}
