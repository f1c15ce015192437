use proptest::prelude::*;

use super::*;
use collbench_stats::random::Random;

/// A text with some of its bytes changed to one of these, left out, doubled and swapped.
pub(crate) fn damaged(text: &[u8], bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..1 + random.below(4) {
        let (from, to) = (random.below(text.len()), random.below(text.len()));
        match random.below(4) {
            0 => text[from] = bytes[random.below(bytes.len())],
            1 => drop(text.drain(from.min(to)..from.max(to))),
            2 => text.extend_from_within(from.min(to)..from.max(to)),
            _ => text.swap(from, to),
        }
        if text.is_empty() {
            break;
        }
    }
    text
}

fn at(line: usize, column: usize) -> Position {
    Position { line, column }
}

fn read(text: &str) -> Document {
    parse(text.as_bytes(), 32).unwrap()
}

fn error(text: &str) -> String {
    parse(text.as_bytes(), 32).unwrap_err().to_string()
}

fn members(value: &Value) -> &[Member] {
    match &value.data {
        Data::Object(members) => members,
        other => panic!("not an object: {other:?}"),
    }
}

#[test]
fn values_and_keys_have_their_places_and_order() {
    let document = read("{ \"b\": 1,\n  \"ä\" : [true, null],  \"a\":{\"x\":\"y\"}}");
    let outer = members(&document.root);
    let places: Vec<_> = outer
        .iter()
        .map(|member| (member.key.as_str(), member.at, member.value.at))
        .collect();
    assert_eq!(
        places,
        [
            ("b", at(1, 3), at(1, 8)),
            ("ä", at(2, 3), at(2, 9)),
            ("a", at(2, 24), at(2, 28))
        ]
    );
    assert_eq!(
        members(&outer[2].value)[0].value.data,
        Data::String("y".to_owned())
    );
    assert_eq!(document.irregularities, []);
}

#[test]
fn what_some_readers_let_pass_is_told_with_its_place() {
    use Irregularity as Is;
    let cases = [
        ("// x\n{}", vec![(at(1, 1), Is::Comment)]),
        ("{/* x\n */}", vec![(at(1, 2), Is::Comment)]),
        ("{\"a\":1,}", vec![(at(1, 8), Is::TrailingComma)]),
        ("[1,\n]", vec![(at(2, 1), Is::TrailingComma)]),
        ("{'a':1}", vec![(at(1, 2), Is::SingleQuotes)]),
        (
            "{\"a\":1,\"b\":{\"a\":1},\"a\":2}",
            vec![(at(1, 20), Is::DuplicateKey(at(1, 2)))],
        ),
        ("{} {}", vec![(at(1, 4), Is::TextAfter)]),
        ("{}/", vec![(at(1, 4), Is::TextAfter)]),
        (
            "[True, NaN]",
            vec![(at(1, 2), Is::LooseLiteral), (at(1, 8), Is::LooseLiteral)],
        ),
        (
            "[007, 1.]",
            vec![(at(1, 2), Is::LooseNumber), (at(1, 7), Is::LooseNumber)],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(read(text).irregularities, expected, "{text}");
    }
}

#[test]
fn errors_say_where_and_what() {
    let cases = [
        ("", "1:1: a value expected, the end of the text found"),
        (
            "{\n",
            "2:1: a key in quotation marks, or `}` expected, the end of the text found",
        ),
        (
            "{a:1}",
            "1:2: a key in quotation marks, or `}` expected, `a` found",
        ),
        ("{\"a\" 1}", "1:6: `:` after a key expected, `1` found"),
        ("{\"a\":1 \"b\":2}", "1:8: `,` or `}` expected, `\"` found"),
        ("[1}", "1:3: `,` or `]` expected, `}` found"),
        ("[,1]", "1:2: a value expected, `,` found"),
        (
            "\"a",
            "1:3: the end of a string expected, the end of the text found",
        ),
        (
            "\"\\x\"",
            "1:3: one of `\"\\/bfnrtu` after `\\` expected, `x` found",
        ),
        ("[tru]", "1:2: a value expected, `t` found"),
        ("[1x]", "1:2: a value expected, `1` found"),
        ("[\u{1}]", "1:2: a value expected, the byte 0x01 found"),
        ("/x", "1:2: `/` or `*` of a comment expected, `x` found"),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text), expected, "{text}");
    }
}

#[test]
fn brackets_are_refused_below_the_depth_that_is_allowed() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    read(&nested(32));
    assert_eq!(
        error(&nested(33)),
        "1:33: at most 32 brackets in one another expected, `[` found"
    );
    parse(&"[".repeat(1_000_000).into_bytes(), 100_000).unwrap_err();
}

#[test]
fn escapes_are_resolved() {
    let Data::String(text) = read(r#""\u0041\n\"\ud83d\ude00\ud83d""#).root.data else {
        panic!("no string");
    };
    assert_eq!(text, "A\n\"\u{1f600}\u{fffd}");
}

proptest! {
    #[test]
    fn values_are_those_of_another_reader(text in json_text()) {
        let other: serde_json::Value = serde_json::from_str(&text).unwrap();
        let document = read(&text);
        prop_assert_eq!(&document.irregularities, &[]);
        prop_assert_eq!(plain(&document.root), other);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(parse(&bytes, 8));
    }

    #[test]
    fn no_mixture_of_tokens_makes_it_panic(tokens in proptest::collection::vec(
        proptest::sample::select(vec!["{", "}", "[", "]", ",", ":", "\"a\"", "'b'", "1", "/*", "*/", "//", "\n", "\\", "\"", "nul"]),
        0..40,
    )) {
        drop(parse(tokens.concat().as_bytes(), 8));
    }
}

fn json_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|value| value.to_string()),
        any::<i64>().prop_map(|value| value.to_string()),
        any::<String>().prop_map(|value| serde_json::to_string(&value).unwrap()),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6)
                .prop_map(|items| format!("[ {}]", items.join(" ,\n"))),
            proptest::collection::btree_map(any::<String>(), inner, 0..6).prop_map(|members| {
                let members: Vec<_> = members
                    .iter()
                    .map(|(key, value)| {
                        format!("{} :\t{value}", serde_json::to_string(key).unwrap())
                    })
                    .collect();
                format!("{{{}}}", members.join(", "))
            }),
        ]
    })
}

fn plain(value: &Value) -> serde_json::Value {
    match &value.data {
        Data::Null => serde_json::Value::Null,
        Data::Bool(value) => (*value).into(),
        Data::Number(text) => serde_json::from_str(text).unwrap(),
        Data::String(text) => text.clone().into(),
        Data::Array(items) => items.iter().map(plain).collect(),
        Data::Object(members) => serde_json::Value::Object(
            members
                .iter()
                .map(|m| (m.key.clone(), plain(&m.value)))
                .collect(),
        ),
    }
}
