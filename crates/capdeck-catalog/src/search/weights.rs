//! How much each feature counts. The numbers are written by `cargo run -p capdeck-catalog --example train_search`.

use super::features::Features;

const WEIGHTS: &[(&str, f32)] = &[
    ("base", 4.108),
    ("base_log", 4.523),
    ("name_asked", -0.264),
    ("name_used", 0.051),
    ("name_asked_and_used", -0.820),
    ("name_unused", -2.617),
    ("card_asked", 1.659),
    ("name_or_card_asked", 0.984),
    ("title_asked", -0.041),
    ("summary_asked", 1.555),
    ("summary_start_asked", -0.136),
    ("details_asked", 0.079),
    ("parameters_asked", 0.510),
    ("parameter_texts_asked", 0.052),
    ("hints_asked", 0.000),
    ("any_asked", 1.802),
    ("exactly_asked", -0.773),
    ("verb_named", 1.213),
    ("verb_same_class", -0.496),
    ("verb_other_class", -1.122),
    ("looks_for_deed", -1.742),
    ("acts_for_look", -0.935),
    ("removes_unasked", -0.788),
    ("destructive_unasked", -0.100),
    ("writes_for_look", -0.875),
    ("deprecated", -2.000),
    ("object_named", 0.164),
    ("object_is_last", 0.426),
    ("object_in_summary", 0.160),
    ("number_same", -0.764),
    ("number_other", -0.405),
    ("names_other_card", -1.064),
    ("neighbours_named", 0.025),
    ("complete", 0.327),
    ("whole_name_asked", 1.420),
    ("implied_look", 0.479),
    ("nouns_other_number", -1.943),
    ("many_for_many", 0.313),
    ("many_for_one", -0.764),
    ("one_for_many", -0.290),
    ("verb_unused", -0.541),
    ("object_missing", -0.653),
];

/// How well a candidate fits; higher is better.
pub(super) fn weigh(features: &Features) -> f32 {
    features.iter().zip(WEIGHTS).map(|(feature, (_, weight))| feature * weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::features::FEATURE_NAMES;

    #[test]
    fn each_feature_has_a_weight() {
        let names: Vec<&str> = WEIGHTS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, FEATURE_NAMES, "run the example `train_search`");
    }
}
