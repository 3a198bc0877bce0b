//! Words for a shell.

/// Words as one types them. Only what a shell would not take as it is stands in quotes: what people are told to type should be easy to
/// read, and libraries put even `--policy=pfs` into quotes.
pub fn line(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    words.into_iter().map(|word| quoted(word.as_ref())).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_a_shell_takes() {
        let words = ["./app", "--n=8", "colab:deal=load", "a b", "it's", "", "a{1,2}", "~/x", "!", "$HOME", "a\nb"];
        let line = line(words);
        assert!(line.starts_with(r"./app --n=8 colab:deal=load 'a b' 'it'\''s' '' 'a{1,2}' '~/x'"), "{line}");
        let output = std::process::Command::new("sh").arg("-c").arg(format!("printf '%s|' {line}")).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), words.map(|word| format!("{word}|")).concat());
    }
}
