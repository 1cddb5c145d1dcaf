pub const NAME: &str = "hazard-logistic";
