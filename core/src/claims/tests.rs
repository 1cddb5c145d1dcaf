//! Sentences, and how a careful reader takes them.

use super::networks::Network;
use super::parse::{Reading, parse};
use super::subjects::Topic;
use crate::{Timestamp, starter};

/// Issue: at least 60 claims written by hand, each with the parse that a careful reader would make.
#[test]
fn hand_written_claims_are_read_as_a_careful_reader_would() {
    let now = Timestamp::parse("2026-11-20T09:00:00Z").unwrap();
    let text = include_str!("expected.tsv");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).skip(1);
    assert_eq!(starter::rows::<5>(text).count(), lines.count(), "a row has not five columns");
    let mut count = 0;
    for [claim, country, topic, when, stance] in starter::rows::<5>(text) {
        let read = parse(claim, now, &[]);
        let some = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
        let found = [
            some(read.country.map_or("", |country| country.code)),
            some(&read.topics.iter().map(Topic::name).collect::<Vec<_>>().join(" ")),
            read.when.map_or("-".to_owned(), |when| match when.is_one_day() {
                true => when.first.to_string(),
                false => format!("{}/{}", when.first, when.last),
            }),
            read.stance.map_or("-".to_owned(), |stance| {
                format!("{}{}", if stance.negated { "not " } else { "" }, stance.kind.as_str())
            }),
        ];
        assert_eq!(found.join(" | "), [country, topic, when, stance].join(" | "), "{claim}");
        count += 1;
    }
    assert!(count >= 60, "{count}");
}

/// What each clause says: countries, topics, and "not" where it denies interference.
fn read(text: &str) -> Vec<String> {
    let now = Timestamp::parse("2026-11-20T09:00:00Z").unwrap();
    let one = |reading: &Reading| {
        let countries: Vec<&str> = reading.countries.iter().map(|country| country.code).collect();
        let topics: Vec<&str> = reading.topics.iter().map(Topic::name).collect();
        let not = if reading.stance.is_some_and(|stance| stance.negated) { "not " } else { "" };
        format!("{not}{} {}", countries.join("+"), topics.join("+"))
    };
    parse(text, now, &[]).readings.iter().map(one).collect()
}

#[test]
fn each_clause_is_read_for_itself() {
    for (text, expected) in [
        ("dw.com is blocked in Belarus and Russia", vec!["BY+RU dw.com"]),
        ("dw.com is blocked in Belarus but not in Armenia", vec!["BY dw.com", "not AM dw.com"]),
        ("dw.com was blocked in Belarus but not in Armenia in May 2024", vec!["BY dw.com", "not AM dw.com"]),
        ("dw.com works in Armenia, but it is filtered in Belarus", vec!["not AM dw.com", "BY dw.com"]),
        ("Unlike Cuba, Mexico does not filter Signal", vec!["not MX signal", "CU signal"]),
        ("While Egypt blocks Medium, Tunisia does not", vec!["EG medium", "not TN medium"]),
        ("Medium and Signal don't open in Egypt, but Reddit does", vec!["EG medium+signal", "not EG reddit"]),
        ("Neither Ghana nor Togo blocks TikTok", vec!["not GH+TG tiktok"]),
        ("Egypt blocked neither Medium nor Signal", vec!["not EG medium+signal"]),
        ("All apps but Signal were blocked in Egypt", vec!["EG "]),
        ("Despite the order, Signal still works in Egypt", vec!["not EG signal"]),
        ("Signal still works in Egypt although it is banned", vec!["not EG signal"]),
        ("Reddit, which was banned in 2019, was unblocked in Indonesia", vec!["not ID reddit"]),
        ("X is blocked in Iran, although people use VPNs", vec!["IR twitter"]),
        ("Mali cut the internet on 1 May 2024 and restored it on 3 May 2024", vec!["ML internet", "not ML internet"]),
        ("Uganda blocked TikTok and slowed Signal", vec!["UG tiktok", "UG signal"]),
        ("Kenya vowed to block Signal in 2024, but did not.", vec!["not KE signal"]),
        ("Signal is not blocked in Ghana. It is blocked in Iran.", vec!["not GH signal", "IR signal"]),
        ("The Chinese app TikTok is banned in India", vec!["IN tiktok"]),
        ("dw.com is blocked in Belarus but also in Cuba", vec!["BY dw.com", "CU dw.com"]),
        ("Not only Belarus but also Cuba blocks dw.com", vec!["BY+CU dw.com"]),
        ("Signal was blocked in Egypt in May 2024, then restored", vec!["EG signal", "not EG signal"]),
        ("In Iran, WhatsApp is blocked; in Russia, Signal is.", vec!["IR whatsapp", "RU signal"]),
        ("Ghana blocked TikTok, the regulator said on Monday", vec!["GH tiktok"]),
        ("TikTok is blocked in Ghana. Nobody knows why.", vec!["GH tiktok"]),
        ("Signal is not blocked in Mali, it is only slow", vec!["not ML signal", "ML signal"]),
        ("Telegram, not WhatsApp, was blocked in Kenya", vec!["KE telegram", "not KE whatsapp"]),
        ("Telegram but not WhatsApp was blocked in Kenya", vec!["KE telegram", "not KE whatsapp"]),
        ("Nigeria, not Ghana, banned Twitter in June 2021", vec!["NG twitter", "not GH twitter"]),
        ("It was Kenya, not Tanzania, that blocked Telegram", vec!["KE telegram", "not TZ telegram"]),
        ("Nigeria rather than Ghana banned Twitter", vec!["NG twitter", "not GH twitter"]),
        ("Kenya blocked Telegram instead of WhatsApp in May 2023", vec!["KE telegram", "not KE whatsapp"]),
        ("Signal is blocked in Egypt rather than slowed", vec!["EG signal"]),
        ("Not all Kenyan ISPs blocked Signal", vec!["KE signal"]),
        ("Not just Belarus blocks Signal", vec!["BY signal"]),
        ("No one disputes that Kenya blocked Signal", vec!["KE signal"]),
        ("I doubt that Signal was blocked in Kenya", vec!["not KE signal"]),
        ("Signal was blocked in Kenya in May 2023. That is wrong.", vec!["not KE signal"]),
        ("Uganda almost shut down the internet", vec!["not UG internet"]),
        ("Gambia nearly blocked Signal", vec!["not GM signal"]),
        ("Not Kenya but Tanzania blocked X", vec!["TZ twitter", "not KE twitter"]),
        ("It is not Kenya but Tanzania that blocked X", vec!["TZ twitter", "not KE twitter"]),
        ("Neither Iran nor Russia but China blocks Signal", vec!["CN signal", "not IR+RU signal"]),
        ("Uganda restored the internet but not social media", vec!["not UG internet", "UG social media"]),
        ("Uganda blocked Signal but not the phones in May 2021", vec!["UG signal"]),
        ("Safaricom blocked Signal in Kenya on 9 May 2023, but not Example", vec!["KE signal"]),
        ("Kenya blocked Signal, but not on Monday", vec!["KE signal", "not KE signal"]),
        ("Uganda: Signal blocked; Kenya: Signal open", vec!["UG signal", "not KE signal"]),
        ("Kenya's neighbour Uganda cut the internet", vec!["UG internet"]),
        ("Signal was blocked in Uganda, and Twitter in Nigeria, in 2021", vec!["UG signal", "NG twitter"]),
        ("The government denied it, but Signal was blocked in Kenya", vec!["KE signal"]),
        ("Mali cut the internet rather than block Facebook", vec!["ML internet", "not ML facebook"]),
        ("Mali throttled rather than blocked Facebook", vec!["ML facebook"]),
        ("Telegram, unlike WhatsApp, was blocked in Kenya", vec!["KE telegram", "not KE whatsapp"]),
        ("Like Nigeria in 2021, Brazil blocked X in 2024", vec!["BR twitter"]),
        ("Like WhatsApp, Signal is blocked in Kenya", vec!["KE signal"]),
        ("Mobile internet was cut in Mali but fixed lines worked", vec!["ML internet"]),
        ("1. Signal is blocked in Kenya. 2. X is blocked in Brazil.", vec!["KE signal", "BR twitter"]),
        (
            "X was blocked in Nigeria from June 2021 to January 2022 and in Brazil from August to October 2024",
            vec!["NG twitter", "BR twitter"],
        ),
        ("Kenya did not block social media, only Telegram", vec!["not KE social media", "KE telegram"]),
        ("Kenya did not block WhatsApp, just Telegram", vec!["not KE whatsapp", "KE telegram"]),
        ("Kenya did not block WhatsApp but Telegram", vec!["not KE whatsapp", "KE telegram"]),
        ("Kenya did not block the internet, only social media", vec!["not KE internet", "KE social media"]),
        ("Kenya blocked only Telegram, not WhatsApp", vec!["KE telegram", "not KE whatsapp"]),
        ("Signal is not blocked in Kenya, only in Uganda", vec!["not KE signal", "UG signal"]),
        ("Signal was not blocked in Kenya, only slowed", vec!["not KE signal", "KE signal"]),
        ("Egypt blocked all apps but Signal in May 2023", vec!["EG "]),
        ("Signal was blocked in Kenya, just like Telegram", vec!["KE signal+telegram"]),
        ("A court halted the blocking of Signal in Brazil", vec!["not BR signal"]),
        ("Ghana, like Senegal, blocked TikTok", vec!["GH tiktok"]),
        ("Similar to Senegal, Ghana blocked TikTok", vec!["GH tiktok"]),
        ("In countries like Senegal and Ghana TikTok is blocked", vec!["SN+GH tiktok"]),
        ("Signal was blocked in Kenya (KE), Ghana (GH) and Mali (ML)", vec!["KE+GH+ML signal"]),
        ("Signal was blocked in Kenya in May 2023 and stays so", vec!["KE signal", "KE signal"]),
        ("Signal was blocked in Kenya in May 2023 and has never come back", vec!["KE signal", "KE signal"]),
    ] {
        assert_eq!(read(text), expected, "{text}");
    }
}

/// Each date of a list is a statement of its own; a date that cannot be is told from none.
#[test]
fn each_date_is_read_with_the_clause_that_names_it() {
    let now = Timestamp::parse("2026-11-20T09:00:00Z").unwrap();
    for (text, expected) in [
        ("Kenya blocked Signal in 2023 and again in 2022", "2023-01-01/2023-12-31 2022-01-01/2022-12-31"),
        ("Kenya blocked Signal in May 2022 and May 2023", "2022-05-01/2022-05-31 2023-05-01/2023-05-31"),
        ("Signal was blocked in Kenya on 6 and 15 May 2023", "2023-05-06/2023-05-06 2023-05-15/2023-05-15"),
        ("Brazil blocked X in August 2024 and in August 2023", "2024-08-01/2024-08-31 2023-08-01/2023-08-31"),
        ("Signal was blocked in Kenya between May 2022 and May 2023", "2022-05-01/2023-05-31"),
        ("Signal was blocked in Kenya on 31 February 2023", "unread"),
        ("Signal was blocked in Kenya in 2023/25", "unread"),
        ("On 31 June 2022 Gabon cut the internet", "unread"),
        ("Signal was blocked in Kenya in 24/7 fashion", "-"),
        // What is set against a date is denied of its own.
        (
            "Signal was blocked in Kenya on 15 May 2023 but not on 6 May 2023",
            "2023-05-15/2023-05-15 not 2023-05-06/2023-05-06",
        ),
        (
            "Twitter was banned in Nigeria in June 2021, not in June 2020",
            "2021-06-01/2021-06-30 not 2020-06-01/2020-06-30",
        ),
        // What goes on speaks of now.
        ("Signal was blocked in Kenya in May 2023 and remains blocked", "2023-05-01/2023-05-31 now"),
        ("Senegal suspended TikTok in May 2023 and it is still blocked", "2023-05-01/2023-05-31 now"),
        ("Gabon cut the internet on 26 May 2023 and it is still off", "2023-05-26/2023-05-26 now"),
        ("Brazil blocked X in 2024 and has never lifted the ban", "2024-01-01/2024-12-31 now"),
        ("Kenya blocked Signal in 2023 and has been blocking it ever since", "2023-01-01/2023-12-31 now"),
        ("Signal was blocked in Kenya in 2023 and still is", "2023-01-01/2023-12-31 now"),
        ("Signal was blocked in Kenya in 2023 but no longer is", "2023-01-01/2023-12-31 not now"),
        // A beginning and an end.
        (
            "The ban on X in Brazil began on 31 May 2024 and ended on 8 June 2024",
            "2024-05-31/2024-05-31 not 2024-06-08/2024-06-08",
        ),
        (
            "The shutdown in Gabon started on 3 May 2024, then ended on 8 May 2024",
            "2024-05-03/2024-05-03 not 2024-05-08/2024-05-08",
        ),
        ("Myanmar blocked Facebook on 4 May and Twitter on 5 May 2021", "2021-05-04/2021-05-04 2021-05-05/2021-05-05"),
        (
            "Mali cut Facebook on 4 May, Twitter on 5 May and the internet on 6 May 2021",
            "2021-05-04/2021-05-04 2021-05-05/2021-05-05 2021-05-06/2021-05-06",
        ),
        ("The ban on TikTok in India, imposed in June 2020, is still in force", "2020-06-01/2020-06-30 now"),
        (
            "Signal was blocked in Kenya from May 2023 and again from May 2024",
            "2023-05-01/2023-05-31 2024-05-01/2024-05-31",
        ),
        (
            "Mali cut Facebook on 4 May 2021 and Twitter and Signal on 5 May 2021",
            "2021-05-04/2021-05-04 2021-05-05/2021-05-05",
        ),
        // Days that are counted from those of the clause before.
        (
            "Uganda blocked Signal on 12 May 2021; it was restored five days later",
            "2021-05-12/2021-05-12 not 2021-05-17/2021-05-17",
        ),
        (
            "Mali cut the internet on 3 May 2024. Two days later it was restored, and the next day cut again",
            "2024-05-03/2024-05-03 not 2024-05-05/2024-05-05 2024-05-06/2024-05-06",
        ),
        (
            "Signal was blocked in Kenya in May 2023 and restored after two weeks",
            "2023-05-01/2023-05-31 not 2023-05-15/2023-06-14",
        ),
        (
            "Uganda blocked Signal on 12 May 2021 and, a day later, the internet",
            "2021-05-12/2021-05-12 2021-05-13/2021-05-13",
        ),
        (
            "Uganda cut social media on 12 May 2021, then the internet on 13 May",
            "2021-05-12/2021-05-12 2021-05-13/2021-05-13",
        ),
        ("Uganda voted on 14 May 2021. Signal had been blocked two days before.", "2021-05-12/2021-05-12"),
        ("Uganda voted on 14 May 2021; the internet was cut the day before", "2021-05-13/2021-05-13"),
        ("Since the shutdown in May 2021, Uganda's internet works", "2021-05-01/2021-05-31 not 2021-05-31/2026-11-20"),
        ("A month later, on 8 May 2024, Brazil blocked X", "2024-05-08/2024-05-08"),
        ("Three days later Kenya blocked Signal", "unread"),
        ("Access to Signal was restored in Chad after 3 days", "-"),
        ("Uganda did not cut the internet until 13 May 2021", "2021-05-13/2021-05-13"),
        ("Signal was not blocked in Kenya until May 2021", "2021-05-01/2021-05-31"),
    ] {
        let one = |reading: &Reading| {
            let not = if reading.stance.is_some_and(|stance| stance.negated) { "not " } else { "" };
            match reading.when {
                _ if reading.unread.is_some() => "unread".to_owned(),
                Some(when) => format!("{not}{}/{}", when.first, when.last),
                None if reading.present => format!("{not}now"),
                None => "-".to_owned(),
            }
        };
        let found: Vec<String> = parse(text, now, &[]).readings.iter().map(one).collect();
        assert_eq!(found.join(" "), expected, "{text}");
    }
}

/// The networks of each clause, and whether it says that the service works there.
#[test]
fn networks_are_read_with_the_clause_that_names_them() {
    let now = Timestamp::parse("2026-11-20T09:00:00Z").unwrap();
    for (text, expected) in [
        ("Signal is blocked on AS30844 in Kenya", vec!["KE AS30844"]),
        ("Safaricom (AS33771) blocks Signal", vec!["KE AS33771 (Safaricom)"]),
        ("Signal is blocked on Safaricom in Kenya", vec!["KE Safaricom"]),
        ("Signal is blocked on Safaricom but not on Airtel in Kenya", vec!["KE Safaricom", "not KE Airtel"]),
        ("Signal was cut off on Safaricom but works on Airtel in Kenya", vec!["KE Safaricom", "not KE Airtel"]),
        ("Rostelecom and MTS block Signal", vec!["RU Rostelecom+MTS"]),
        ("In Iran, MTN Irancell throttles Instagram", vec!["IR MTN Irancell"]),
        ("On AS4134 (China Telecom) dw.com is blocked in China", vec!["CN AS4134 (China Telecom)"]),
        ("TTNET users in Turkey can reach Discord", vec!["not TR TTNET"]),
        (
            "Safaricom blocked Signal on 8 May 2024 and restored it on 9 May 2024",
            vec!["KE Safaricom", "not KE Safaricom"],
        ),
        ("Signal is blocked on Example Net in Kenya", vec!["KE Example Net"]),
        ("Safaricom says that Signal is blocked in Kenya", vec!["KE "]),
        ("Signal is blocked on Android in Kenya", vec!["KE "]),
    ] {
        let one = |reading: &Reading| {
            let not = if reading.stance.is_some_and(|stance| stance.negated) { "not " } else { "" };
            let networks: Vec<String> = reading.networks.iter().map(Network::label).collect();
            format!("{not}{} {}", reading.countries.first().map_or("", |country| country.code), networks.join("+"))
        };
        let found: Vec<String> = parse(text, now, &[]).readings.iter().map(one).collect();
        assert_eq!(found, expected, "{text}");
    }
}
