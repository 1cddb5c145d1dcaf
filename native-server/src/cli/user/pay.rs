//! `heliograph pay`: wallets, payments, offers, hires.

use heliograph_client::ledger::answers::{Listing, WalletState};
use heliograph_client::ledger::envelope::Page;
use heliograph_client::ledger::market::Search;
use serde_json::Value;

use super::ask::{self, Asked};
use super::output::{Fields, credits};
use crate::cli::args::user::{Ask, PayCommand};
use crate::cli::exit::Failure;
use crate::clock;

pub fn run(command: &PayCommand) -> Result<(), Failure> {
    match command {
        PayCommand::Balance { did, ask } => ask::run(ask, |asked| balance(asked, ask, did.as_deref())),
        PayCommand::Grant { ask } => ask::run(ask, |asked| grant(asked, ask)),
        PayCommand::Send { to, amount, memo, ask } => {
            ask::run(ask, |asked| send(asked, ask, (to, *amount), memo.as_deref()))
        }
        PayCommand::Offers { words, max, limit, ask } => ask::run(ask, |asked| async move {
            let words = Some(words.join(" ")).filter(|words| !words.is_empty());
            let page = Page { limit: Some(*limit), before: None };
            let search = Search { words, max_price_micro: *max, page, ..Search::default() };
            offers(&asked, ask, &search).await
        }),
        PayCommand::Hire { offer, max, input, task, ask } => {
            ask::run(ask, |asked| hire(asked, ask, (offer, *max), input.as_ref(), task.clone()))
        }
    }
}

/// Says what to do where there is no wallet.
fn explained(error: heliograph_client::Error) -> Failure {
    let none = error.reason() == Some("wallet_not_found");
    let mut failure = Failure::from(error);
    if none {
        failure.text.push_str("; `heliograph pay grant` makes the wallet of your agent");
    }
    failure
}

fn fields(wallet: &WalletState) -> Fields {
    vec![
        ("did", wallet.did.clone()),
        ("balance", credits(wallet.balance_micro)),
        ("set aside", credits(wallet.locked_micro)),
        ("most in a day", credits(wallet.daily_cap_micro)),
        ("most at once", credits(wallet.per_tx_cap_micro)),
        ("state", if wallet.frozen { "frozen" } else { "open" }.to_owned()),
    ]
}

async fn balance(mut asked: Asked, ask: &Ask, did: Option<&str>) -> Result<(), Failure> {
    let wallet = match did {
        Some(did) => asked.client.wallet(did).await,
        None => asked.agent().await?.wallet().await,
    };
    let wallet = wallet.map_err(explained)?;
    ask.form.one(&wallet, "", &fields(&wallet))
}

async fn grant(mut asked: Asked, ask: &Ask) -> Result<(), Failure> {
    let agent = asked.agent().await?;
    agent.create_wallet().await?;
    let granted = agent.claim_grant().await?;
    let fields = vec![
        ("did", granted.did.clone()),
        ("granted", credits(granted.amount_micro)),
        ("balance", credits(granted.new_balance_micro)),
    ];
    ask.form.one(&granted, "", &fields)
}

async fn send(mut asked: Asked, ask: &Ask, (to, amount): (&str, i64), memo: Option<&str>) -> Result<(), Failure> {
    let paid = asked.agent().await?.pay(to, amount, memo).await.map_err(explained)?;
    let fields = vec![
        ("transfer", paid.transfer_id.clone()),
        ("to", paid.transfer.to_did.clone()),
        ("paid", credits(paid.transfer.amount_micro)),
        ("balance", credits(paid.sender_new_balance_micro)),
        ("settled", ask.form.time(&paid.settled_at)),
    ];
    ask.form.one(&paid, "", &fields)
}

async fn offers(asked: &Asked, ask: &Ask, search: &Search) -> Result<(), Failure> {
    let found = asked.client.search_market(search).await?;
    let heads = ["offer", "credits", "unit", "done", "rating", "name", "provider"];
    ask.form.list(&found.capabilities, &heads, "Nobody offers that.", |offer: &Listing| {
        vec![
            offer.id.clone(),
            credits(offer.price_per_call_micro),
            offer.unit.clone(),
            offer.total_completed.to_string(),
            offer.rating_avg.map(|rating| format!("{rating:.1}")).unwrap_or_default(),
            offer.name.clone(),
            offer.provider_did.clone(),
        ]
    })
}

async fn hire(
    mut asked: Asked,
    ask: &Ask,
    (offer, max): (&str, Option<i64>),
    input: Option<&Value>,
    task: Option<String>,
) -> Result<(), Failure> {
    let agent = asked.agent().await?;
    let listing = asked.client.listing(offer).await?;
    if max.is_some_and(|max| listing.price_per_call_micro > max) {
        let price = credits(listing.price_per_call_micro);
        return Err(Failure::usage(format!("the offer costs {price} credits, more than --max allows")));
    }
    let task = match task {
        Some(task) => task,
        None => fresh()?,
    };
    // The envelope names this price, so the ledger refuses it if the offer became dearer meanwhile.
    let hired = agent.hire(&listing, &task, input).await.map_err(explained)?;
    let fields = vec![
        ("hire", hired.hire_id.clone()),
        ("provider", hired.provider_did.clone()),
        ("set aside", credits(hired.price_micro)),
        ("task", hired.hire.task_id.clone()),
        ("escrow", hired.escrow_id.clone()),
        ("work is due", ask.form.time(&hired.delivery_deadline_at)),
    ];
    ask.form.one(&hired, "", &fields)
}

/// An id that was never used before.
fn fresh() -> Result<String, Failure> {
    let bytes: [u8; 8] = clock::random()?;
    Ok(format!("task-{}", heliograph_core::crypto::encoding::encode_hex(&bytes)))
}
