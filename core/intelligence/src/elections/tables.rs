//! Reads two published tables of elections that have layouts of their own, as rows of a calendar.
//!
//! | Table | Recognized by | Content |
//! |---|---|---|
//! | REIGN's list of elections | columns `elec_year`, `elec_month` | votes and the steps towards them; only votes and coming events become rows of a calendar |
//! | IFES's election guide | columns `date`, `election`, `status` without `type` | votes named after what is elected; countries under their formal names |
//!
//! A day that a table does not state is never guessed.

use super::model::{DateCertainty, Election, ElectionDate, ElectionType, Precision};
use engine::moment::moment;
use facts::measurement::types::Rejection;
use facts::reported::place;

pub const REIGN: [&str; 6] = ["country", "elec_year", "elec_month", "elec_day", "event", "type"];
pub const IFES: [&str; 4] = ["country", "date", "election", "status"];

/// The row is a step towards a vote, not a vote.
const NOT_A_VOTE: Rejection = Rejection::Unsupported("not_a_vote");

/// A row of REIGN's list.
pub fn reign<'r>(get: &dyn Fn(&str) -> &'r str) -> Result<Election, Rejection> {
    let event = get("event").trim().to_ascii_lowercase();
    let event: Vec<&str> = event.split(',').map(str::trim).collect();
    let (took_place, status) = match event.as_slice() {
        ["vote", ..] => (true, DateCertainty::Held),
        ["upcoming", "scheduled"] => (false, DateCertainty::Announced),
        ["upcoming", ..] => (false, DateCertainty::Expected),
        _ => return Err(NOT_A_VOTE),
    };
    let number = |name: &str| get(name).trim().parse::<u32>().ok();
    let year = number("elec_year").ok_or(Rejection::Refused("bad_date"))?;
    let text = match (number("elec_month"), number("elec_day")) {
        (Some(month), Some(day)) => format!("{year:04}-{month:02}-{day:02}"),
        (Some(month), None) => format!("{year:04}-{month:02}"),
        (None, _) => format!("{year:04}"),
    };
    let when = ElectionDate::parse(&text).ok_or(Rejection::Refused("bad_date"))?;
    if took_place && when.precision() != Precision::Day {
        return Err(Rejection::Unusable("held_without_a_day"));
    }
    let (kind, title) = match get("type").trim() {
        "X" => (ElectionType::Presidential, "Election of the executive"),
        "L" => (ElectionType::Parliamentary, "Parliamentary election"),
        "R" => (ElectionType::Referendum, "Referendum"),
        _ => return Err(Rejection::Refused("bad_type")),
    };
    let country = country(get("country"))?;
    let source = "REIGN, list of elections".to_owned();
    Ok(Election { when, country: country.code.to_owned(), kind, title: title.to_owned(), status, source })
}

/// A row of IFES's guide, as of `today` (days since the epoch).
pub fn ifes<'r>(get: &dyn Fn(&str) -> &'r str, today: i64) -> Result<Election, Rejection> {
    let date = match get("date").trim() {
        "" | "None" => return Err(Rejection::Unusable("no_date")),
        text => moment(text).ok_or(Rejection::Refused("bad_date"))?,
    };
    let when = ElectionDate::parse(&date.to_date_text()).ok_or(Rejection::Refused("bad_date"))?;
    let past = date.day() < today;
    let status = match get("status").trim().to_ascii_lowercase().as_str() {
        "held" => DateCertainty::Held,
        "cancelled" => DateCertainty::Cancelled,
        // The row does not say whether its date is the old or the new one.
        "postponed" => return Err(Rejection::Unusable("postponed")),
        "snap" | "moved up" | "moved up/ snap" if past => DateCertainty::Held,
        "snap" | "moved up" | "moved up/ snap" | "confirmed" => DateCertainty::Announced,
        "date not confirmed" | "tentative" | "second round if needed" => DateCertainty::Expected,
        _ => return Err(Rejection::Refused("bad_status")),
    };
    let what = get("election").trim();
    if what.is_empty() {
        return Err(Rejection::Unusable("no_election"));
    }
    let country = country(get("country"))?;
    let kind = match of_what(what) {
        ElectionType::Parliamentary if country.part => ElectionType::Regional,
        kind => kind,
    };
    // The title keeps the name in the country's language and drops its translation in brackets.
    let title = match what.split_once('(') {
        Some((name, _)) if what.chars().count() > super::read::MAX_TITLE => name.trim(),
        _ => what,
    };
    let source = "IFES, election guide".to_owned();
    Ok(Election { when, country: country.code.to_owned(), kind, title: title.to_owned(), status, source })
}

fn of_what(election: &str) -> ElectionType {
    let election = election.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| election.contains(word));
    if has(&["referendum", "plebiscite"]) {
        ElectionType::Referendum
    } else if has(&["municipal", "local ", "mayor", "communal", "city council"]) {
        ElectionType::Local
    } else if has(&["regional", "provincial", "governor", "landtag", "state assembl", "district council"]) {
        ElectionType::Regional
    } else if has(&["for president", "for prime minister"]) {
        ElectionType::Presidential
    } else {
        ElectionType::Parliamentary
    }
}

/// A country named in these tables, or the country that a named region belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NamedCountry {
    code: &'static str,
    part: bool,
}

fn country(name: &str) -> Result<NamedCountry, Rejection> {
    let name = name.trim();
    let plain = place::plain(name);
    if let Some((_, code)) = PARTS.iter().find(|(part, _)| *part == plain) {
        return Ok(NamedCountry { code, part: true });
    }
    let known = NAMES.iter().find(|(known, _)| *known == plain).map(|(_, code)| *code);
    let code = known.or_else(|| place::country(name)).or_else(|| formal(&plain));
    code.map(|code| NamedCountry { code, part: false }).ok_or(Rejection::Refused("unknown_country"))
}

/// The country in a formal name: the part behind words such as `Republic of` or `Kingdom of the`.
fn formal(plain: &str) -> Option<&'static str> {
    plain.match_indices(" of ").find_map(|(at, of)| {
        let (form, rest) = (plain.get(..at)?, plain.get(at + of.len()..)?);
        let form = form.split(' ').all(|word| FORMS.contains(&word));
        let rest = rest.strip_prefix("the ").unwrap_or(rest);
        place::country(rest).filter(|_| form)
    })
}

/// Words for forms of government.
const FORMS: [&str; 29] = [
    "republic",
    "kingdom",
    "state",
    "states",
    "federal",
    "federated",
    "federation",
    "federative",
    "democratic",
    "islamic",
    "peoples",
    "socialist",
    "plurinational",
    "bolivarian",
    "arab",
    "united",
    "commonwealth",
    "cooperative",
    "grand",
    "duchy",
    "hashemite",
    "independent",
    "oriental",
    "principality",
    "sultanate",
    "union",
    "country",
    "territory",
    "occupied",
];

/// Other names that these tables use for countries.
const NAMES: [(&str, &str); 31] = [
    ("argentine republic", "AR"),
    ("bosnia herzegovina", "BA"),
    ("east timor", "TL"),
    ("french republic", "FR"),
    ("gabonese republic", "GA"),
    ("hellenic republic", "GR"),
    ("hong kong special administrative region", "HK"),
    ("italian republic", "IT"),
    ("kyrgyz republic", "KG"),
    ("lao peoples democratic republic", "LA"),
    ("lebanese republic", "LB"),
    ("macau special administrative region", "MO"),
    ("micronesia", "FM"),
    ("occupied palestinian territories", "PS"),
    ("overseas lands of french polynesia", "PF"),
    ("portuguese republic", "PT"),
    ("republic of bostwana", "BW"),
    ("republic of china", "TW"),
    ("slovak republic", "SK"),
    ("st vincent", "VC"),
    ("surinam", "SR"),
    ("swaziland", "SZ"),
    ("swiss confederation", "CH"),
    ("syrian arab republic", "SY"),
    ("tajkistan", "TJ"),
    ("territory of new caledonia and dependencies", "NC"),
    ("togolese republic", "TG"),
    ("tunisian republic", "TN"),
    ("united kingdom of great britain and northern ireland", "GB"),
    ("united mexican states", "MX"),
    ("territory of the cocos keeling islands", "CC"),
];

/// Regions with elections of their own.
const PARTS: [(&str, &str); 8] = [
    ("autonomous community of andalusia", "ES"),
    ("autonomous community of galicia", "ES"),
    ("basque country", "ES"),
    ("catalunya comunitat autonoma despanya", "ES"),
    ("corsica", "FR"),
    ("northern ireland", "GB"),
    ("scotland", "GB"),
    ("wales", "GB"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formal_names_lead_to_their_country_and_regions_to_the_one_they_are_part_of() {
        for (name, code, part) in [
            ("Republic of The Gambia", "GM", false),
            ("Kingdom of the Netherlands", "NL", false),
            ("Republic of China", "TW", false),
            ("Republic of the Congo", "CG", false),
            ("Democratic Republic of the Congo", "CD", false),
            ("Democratic Republic of Congo", "CD", false),
            ("Republic of Korea", "KR", false),
            ("Dominican Republic", "DO", false),
            ("Commonwealth of Dominica", "DM", false),
            ("Republic of Niger", "NE", false),
            ("Federal Republic of Nigeria", "NG", false),
            ("Republic of Guinea-Bissau", "GW", false),
            ("People's Democratic Republic of Algeria", "DZ", false),
            ("Hellenic Republic", "GR", false),
            ("Scotland", "GB", true),
        ] {
            assert_eq!(country(name), Ok(NamedCountry { code, part }), "{name}");
        }
        for name in ["European Union", "South Yemen", "Republic of Atlantis", "Gang of France", ""] {
            assert!(country(name).is_err(), "{name}");
        }
    }
}
