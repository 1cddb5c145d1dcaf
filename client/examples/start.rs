use heliograph_client::{Client, Draft, Filter, Registration, store::FileStore};

#[tokio::main]
async fn main() -> heliograph_client::Result<()> {
    let client = Client::new(&std::env::args().nth(1).unwrap_or_default())?;
    let ada = client.open_or_register(FileStore::new("ada")?, Registration::default()).await?;
    let bob = client.open_or_register(FileStore::new("bob")?, Registration::default()).await?;
    ada.send(&Draft::to(&bob.did(), "Hello Bob").from_prekeys()).await?;
    for message in bob.receive(&Filter::default()).await?.messages {
        println!("{} {:?}", message.text, message.authentication);
        bob.mark_read(&[&message.id]).await?;
    }
    Ok(())
}
