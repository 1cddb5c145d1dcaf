//! Pages for people: "is it blocked?" answered without scripts, in several languages, the same bytes on both runtimes.
//!
//! A page asks the program's own routes and shows what they answer, so it says what the interface says, and links to the
//! same evidence. Charts and the map are images with addresses of their own (decision pages).
//!
//! | Module | What |
//! |---|---|
//! | [`layer`] | the pages and their addresses |
//! | `page` | what every page has: language, frame, headers, errors |
//! | `refused` | what pages say of errors |
//! | `near` | what a reader may have meant whose site is not known |
//! | `words` | the words of pages in every language |
//! | `answer` | what the program's routes answer |
//! | `front`, `country`, `site`, `check`, `incident` | pages about the state of things |
//! | `behind` | what stands behind an answer: networks, rules, votes, measurements |
//! | `range` | the moment that a page is about, and the days that its charts show |
//! | `data`, `method`, `about`, `guide`, `key`, `docs` | pages about this service |
//! | [`chart`] | charts and the map, as SVG |
//! | `image`, `badge` | addresses of charts, the map and badges |
//! | `sitemap` | the list of pages for search engines |
//! | `style` | the style sheet |

mod about;
mod answer;
mod badge;
mod behind;
pub mod chart;
mod check;
mod country;
mod data;
mod docs;
mod front;
mod guide;
mod image;
mod incident;
mod key;
pub mod layer;
mod method;
mod near;
mod page;
mod range;
mod refused;
mod site;
mod sitemap;
mod style;
mod words;
