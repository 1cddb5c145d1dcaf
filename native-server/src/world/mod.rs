//! Simulated worlds for judging the method of verdicts: what it wrongly calls blocked, how soon it finds a block and
//! its end, and whether its probabilities are right. A world shows what the method does under the noise that the world
//! was made with. It says nothing about the real world.
//!
//! | Module | What |
//! |---|---|
//! | `made` | countries, sites, networks, blocks and failures, from a seed |
//! | `told` | the sessions of a world as rows of the observation table |
//! | `lived` | puts a world through the import of a deployment, and asks about it |
//! | `judged` | compares the answers with the truth |

mod judged;
mod lived;
mod made;
mod told;

pub use judged::{Judgement, Row};
pub use lived::live;
pub use made::{Noise, Plan, Shape, Size, World};

/// The plans that are judged: every combination of noise and rate of measurement.
pub fn grid(size: Size) -> Vec<Plan> {
    let noises = [0.02, 0.05, 0.08];
    let mut plans = Vec::new();
    for rate in [4, 2, 1] {
        for bursts in [false, true] {
            plans.extend(noises.map(|share| Plan { size, rate, noise: Noise { share, bursts }, shape: Shape::Usual }));
        }
        let of_shape = |shape| Plan { size, rate, noise: Noise { share: 0.05, bursts: false }, shape };
        plans.extend([Shape::OfficeHours, Shape::Other].map(of_shape));
    }
    plans
}
