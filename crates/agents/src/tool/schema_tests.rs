//! What is wrong is said; what is hostile is refused or bounded.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Schema, SchemaError};

fn checked(schema: Value, value: Value) -> Result<(), String> {
    Schema::new(&schema).unwrap().check(&value)
}

#[test]
fn says_which_argument_is_wrong_and_how() {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1},
            "stops": {"type": "array", "items": {"enum": ["a", "b"]}},
        },
        "required": ["city"],
        "additionalProperties": false,
    });
    assert_eq!(checked(schema.clone(), json!({"city": "Oslo", "days": 2})), Ok(()));
    for (value, said) in [
        (json!({}), "`/city` is missing"),
        (json!({"city": 1}), "`/city` must be string, not number"),
        (json!({"city": "x", "days": 0}), "`/days` must be at least 1"),
        (json!({"city": "x", "days": 1.5}), "`/days` must be integer, not number"),
        (json!({"city": "x", "stops": ["a", "c"]}), "`/stops/1` must be \"a\" or \"b\""),
        (json!({"city": "x", "a/b": 1}), "`/a~1b` is not allowed"),
        (json!({"days": 0}), "`/days` must be at least 1; `/city` is missing"),
    ] {
        let mut said: Vec<&str> = said.split("; ").collect();
        let heard = checked(schema.clone(), value).unwrap_err();
        let mut heard: Vec<&str> = heard.split("; ").collect();
        said.sort_unstable();
        heard.sort_unstable();
        assert_eq!(heard, said);
    }
}

#[test]
fn complaints_are_few_and_short() {
    let long = "x".repeat(100_000);
    let values: Vec<&str> = std::iter::repeat_n(long.as_str(), 50).collect();
    let schema = json!({"items": {"type": "integer"}});
    let said = checked(schema, json!(values)).unwrap_err();
    assert!(said.len() < 2_000, "{}", said.len());
    assert!(said.ends_with("; and more"), "{said}");
}

#[test]
fn broken_schemas_are_refused() {
    let deep = (0..100).fold(json!({}), |inner, _| json!({"items": inner}));
    for (schema, error) in [
        (json!([]), "the schema must be an object"),
        (
            json!({"type": "whatever"}),
            "the schema is broken at `/type`: there is no type `whatever`",
        ),
        (
            json!({"properties": {"a": {"minimum": "x"}}}),
            "the schema is broken at `/properties/a/minimum`",
        ),
        (json!({"properties": []}), "the schema is broken at `/properties`"),
        (json!({"items": 1}), "the schema is broken at `/items`"),
        (json!({"required": "a"}), "the schema is broken at `/required`"),
        (json!({"minLength": -1}), "the schema is broken at `/minLength`"),
        (json!({"multipleOf": 0}), "the schema is broken at `/multipleOf`"),
        (json!({"$ref": "https://example.com/schema.json"}), "the schema is broken at `/$ref`"),
        (json!({"$ref": "file:///etc/passwd"}), "the schema is broken at `/$ref`"),
        (json!({"$ref": "#/definitions/none"}), "the schema is broken at `/$ref`"),
        (json!({"description": "x".repeat(70_000)}), "the schema has"),
        (deep, "the schema is nested deeper than 64"),
    ] {
        match Schema::new(&schema) {
            Ok(_) => panic!("{schema} is accepted"),
            Err(said) => assert!(said.to_string().starts_with(error), "{said}"),
        }
    }
    assert_eq!(Schema::new(&json!(1)).err(), Some(SchemaError::NotAnObject));
}

#[test]
fn hostile_schemas_do_not_take_long() {
    let began = Instant::now();
    // Backtracking would take for ever.
    let said = checked(json!({"pattern": "^(a+)+$"}), json!(format!("{}!", "a".repeat(50_000))));
    assert!(said.is_err());
    // A pattern that would need a lot of memory is not looked at.
    assert_eq!(checked(json!({"pattern": "(((a{100}){100}){100}){100}"}), json!("b")), Ok(()));
    // A schema that refers to itself.
    let own = json!({"properties": {"next": {"$ref": "#"}}, "additionalProperties": false});
    let list = (0..60).fold(json!({}), |inner, _| json!({"next": inner}));
    assert_eq!(checked(own, list), Ok(()));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn work_is_bounded_however_a_schema_multiplies() {
    let began = Instant::now();
    // Each definition asks for the next one twice: 2^40 looks if nothing bounds them.
    let mut defs = serde_json::Map::new();
    for i in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", i + 1)});
        defs.insert(format!("d{i}"), json!({"anyOf": [next, next]}));
    }
    defs.insert("d40".to_owned(), json!({"type": "integer"}));
    let deep = (0..100).fold(json!({}), |inner, _| json!({"a": inner}));
    for (schema, value) in [
        (json!({"$defs": defs, "$ref": "#/$defs/d0"}), json!({})),
        (json!({"$ref": "#"}), json!({})),
        (json!({"allOf": [{"$ref": "#"}]}), json!({})),
        (json!({"not": {"$ref": "#"}}), json!({})),
        (
            json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
            json!({}),
        ),
        // Twice as many looks at every level of the value.
        (
            json!({"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]}),
            deep,
        ),
        (json!({"uniqueItems": true}), json!((0..10_000).collect::<Vec<_>>())),
    ] {
        let said = checked(schema, value);
        assert_eq!(said, Err("the arguments: too much to be checked".to_owned()));
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

/// Ours and a complete validator agree on schemas as tools have them.
#[test]
fn agrees_with_a_complete_validator() {
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(1.0),
        json!(1.5),
        json!(-3),
        json!(12),
        json!(""),
        json!("a"),
        json!("abc"),
        json!("ä€😀"),
        json!([]),
        json!([1]),
        json!([1, 1.0]),
        json!([1, "a", null]),
        json!([[1], [1]]),
        json!([{"a": 1}, {"a": 1.0}]),
        json!({}),
        json!({"a": 1}),
        json!({"a": "x", "b": 2}),
        json!({"b": null}),
        json!({"x-y": 1, "c": []}),
        json!({"a": {"a": {"a": 3}}}),
        json!({"kind": "one", "v": 1}),
        json!({"kind": "two"}),
    ];
    let schemas = [
        json!({"type": "integer"}),
        json!({"type": ["string", "null"]}),
        json!({"type": "number"}),
        json!({"enum": [1, "a", [1], {"a": 1}]}),
        json!({"const": 1.0}),
        json!({"const": {"a": 1}}),
        json!({"minimum": 1}),
        json!({"maximum": 1, "minimum": 0}),
        json!({"exclusiveMinimum": 1}),
        json!({"exclusiveMaximum": 1.5}),
        json!({"multipleOf": 0.5}),
        json!({"multipleOf": 3}),
        json!({"minLength": 2}),
        json!({"maxLength": 3}),
        json!({"pattern": "^a.c$"}),
        json!({"pattern": "b"}),
        json!({"items": {"type": "integer"}}),
        json!({"prefixItems": [{"type": "integer"}], "items": false}),
        json!({"minItems": 1, "maxItems": 2}),
        json!({"uniqueItems": true}),
        json!({"contains": {"type": "string"}}),
        json!({"contains": {"const": 1}, "minContains": 2}),
        json!({"contains": {"const": 1}, "maxContains": 1}),
        json!({"properties": {"a": {"type": "integer"}}}),
        json!({"required": ["a"]}),
        json!({"additionalProperties": false, "properties": {"a": true}}),
        json!({"additionalProperties": {"type": "integer"}}),
        json!({"patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false}),
        json!({"propertyNames": {"maxLength": 1}}),
        json!({"minProperties": 1, "maxProperties": 1}),
        json!({"dependentRequired": {"a": ["b"]}}),
        json!({"dependentSchemas": {"a": {"required": ["b"]}}}),
        json!({"allOf": [{"type": "object"}, {"required": ["a"]}]}),
        json!({"anyOf": [{"type": "string"}, {"required": ["b"]}]}),
        json!({"oneOf": [{"type": "integer"}, {"type": "number"}, {"const": "a"}]}),
        json!({"not": {"type": "object"}}),
        json!({"not": {}}),
        json!({"properties": {"a": false}}),
        json!({"if": {"type": "string"}, "then": {"minLength": 2}, "else": {"type": ["object", "array"]}}),
        json!({"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}),
        json!({"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#"}, {"const": 3}]}}}),
        json!({"oneOf": [
            {"properties": {"kind": {"const": "one"}, "v": {"type": "integer"}}, "required": ["kind", "v"]},
            {"properties": {"kind": {"const": "two"}}, "required": ["kind"]}]}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"const": 1}], "additionalItems": false}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": ["b"], "x-y": {"required": ["c"]}}}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": true}),
    ];
    for schema in &schemas {
        let theirs = jsonschema::validator_for(schema).unwrap();
        let ours = Schema::new(schema).unwrap();
        for value in &values {
            let said = ours.check(value);
            assert_eq!(said.is_ok(), theirs.is_valid(value), "{schema} {value}: {said:?}");
        }
    }
}
