//! HTTP without a framework: requests in, responses out, one table of routes.
//!
//! The routes of the program ([`crate::program::Program::routes`]) are the single source of routing,
//! authentication, limits, schemas and the OpenAPI document. To add an endpoint: write an `async fn(Cx) ->
//! Result<Response>` beside its resource, and one [`Route`] in that module's `ROUTES`.
//!
//! | Module | What |
//! |---|---|
//! | [`route`] | one row of the route table |
//! | `accept` | whether a browser asks for a page |
//! | `addresses` | addresses of the program's own routes, written |
//! | [`router`] | a request's way to its handler, and the answer's way back |
//! | [`caller`] | who calls, and how that is checked |
//! | [`budget`] | budgets of routes and callers: where most 429 are decided |
//! | [`computing`] | which answers must be computed, and how many a client may ask for |
//! | [`Deprecated`] | routes that give way to others |
//! | [`coding`] | which answers are compressed, and how |
//! | [`extract`] | what a handler reads from its request |
//! | [`handed_on`] | a request that another part of the deployment goes on with |
//! | `late` | whole answers that may be late |
//! | [`document`] | published bodies as answers |
//! | [`message`] | requests and responses |
//! | [`page_origin`] | where web pages come from, and which names are this machine's |
//! | `param` | what a route reads from its query and its path |
//! | [`proxy`] | the client's address behind proxies |
//! | `unfit` | why a body does not fit, in words of JSON |

mod accept;
mod addresses;
mod budget;
mod caller;
mod coding;
mod computing;
mod deprecation;
mod document;
mod extract;
mod handed_on;
mod late;
mod message;
mod page_origin;
mod param;
mod proxy;
mod route;
mod router;
mod unfit;

pub use addresses::{encoded, query};
pub use budget::{address, budget_headers, figures, over_budget, public_budget, spent, within};
pub use caller::{Admit, Admitted, Caller, Check, Gate, MadeKey, ShownKey, is_operator, operator};
pub use coding::{Coder, Coding};
pub use computing::Computes;
pub use deprecation::Deprecated;
pub use document::{Ready, revalidated};
pub use extract::{Cx, known_time};
pub use handed_on::handed_on;
pub use message::{Body, METRICS_TEXT, Request, Response};
pub use page_origin::{PageOrigin, host_name, is_this_machine};
pub use param::{COUNTRY_PATTERN, LINE, NETWORK, PROSE, Param, Shape};
pub use proxy::{Origin, Proxies, Unheard, neighbourhood};
pub use route::handler;
pub use route::{Auth, BodyKind, Handler, LARGEST_BODY, Limit, Route, SchemaOf};
pub use router::Routes;
pub use router::{Matched, Preflight, admit, answer, answer_admitted, preflight, refusal, serve, too_large};
