//! Where statements come from: the command line, files and standard input.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use super::meta::Flow;
use super::{Failure, Reason, Runner, note};
use crate::args::Step;
use crate::interrupt::EXIT_INTERRUPTED;
use crate::script::{Item, Lines, Script, SharedLines, first_word, truth};

/// Files that are open within each other at most, so that one that includes itself ends.
const OPEN_FILES_MAX: usize = 64;

const STANDARD_INPUT: &str = "standard input";

/// How the first lines of what `pg_dump` and `pg_dumpall` write begin; their data are in PostgreSQL's text format.
const DUMPS: [&str; 2] = ["-- PostgreSQL database dump", "-- PostgreSQL database cluster dump"];
/// Lines within which that is looked for.
const DUMP_LINES: usize = 10;

impl Runner {
    /// Runs the steps of the command line, or standard input if there are none.
    ///
    /// # Errors
    ///
    /// The first failure of a statement, a file or the output.
    pub(crate) async fn steps(&mut self, steps: Vec<Step>) -> Result<(), Failure> {
        if steps.is_empty() {
            return self.standard_input().await;
        }
        for step in steps {
            match step {
                Step::Sql(sql) => {
                    let mut script = Script::default();
                    script.push(&sql);
                    self.last_items(&mut script, None).await?;
                }
                Step::File(path) if path.as_os_str() == "-" => self.standard_input().await?,
                Step::File(path) => self.file(&path).await?,
            }
        }
        Ok(())
    }

    /// Runs the statements of a file, up to its end or `\q`; a failure names its line.
    ///
    /// # Errors
    ///
    /// The first failure, or a file that cannot be read.
    pub(crate) async fn file(&mut self, path: &Path) -> Result<(), Failure> {
        if self.open_files == OPEN_FILES_MAX {
            return Err(Reason::Message(format!(
                "{}: files include each other more than {OPEN_FILES_MAX} deep; one of them seems to include itself",
                path.display()
            ))
            .into());
        }
        let lines = Lines::file(path).map_err(|error| Reason::file(path, error))?;
        self.open_files += 1;
        let outer = std::mem::replace(&mut self.directory_of_script, path.parent().map(Path::to_owned));
        let done = self.lines_of(lines, path).await;
        self.directory_of_script = outer;
        self.open_files -= 1;
        done
    }

    /// Runs the statements of standard input as they come.
    async fn standard_input(&mut self) -> Result<(), Failure> {
        self.lines_of(Lines::standard(), Path::new(STANDARD_INPUT)).await
    }

    /// Runs the statements that `lines` give, which are called `path`.
    async fn lines_of(&mut self, lines: SharedLines, path: &Path) -> Result<(), Failure> {
        let name = path.display().to_string();
        let outer = self.lines.replace(SharedLines::clone(&lines));
        let done = self.script_of(&lines, path, &name).await;
        self.lines = outer;
        done
    }

    async fn script_of(&mut self, lines: &SharedLines, path: &Path, name: &str) -> Result<(), Failure> {
        let mut script = Script::default();
        let mut line = Vec::new();
        let mut head = 0..DUMP_LINES;
        loop {
            line.clear();
            let read = lines.lock().unwrap_or_else(PoisonError::into_inner).read(&mut line);
            if read.map_err(|error| Reason::file(path, error))? == 0 {
                return self.last_items(&mut script, Some(name)).await;
            }
            let text = str::from_utf8(&line).map_err(|_| {
                let not_text = io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8");
                Reason::file(path, not_text)
            })?;
            if self.variables.get("ECHO") == Some("all") {
                note(text.trim_end());
            }
            script.is_dump |= head.next().is_some() && DUMPS.contains(&text.trim_end());
            script.push(text);
            if self.items(&mut script, Some(name)).await? == Flow::Leave {
                return Ok(());
            }
        }
    }

    /// Runs what a script holds, whose text is complete.
    async fn last_items(&mut self, script: &mut Script, name: Option<&str>) -> Result<(), Failure> {
        if self.items(script, name).await? == Flow::Leave {
            return Ok(());
        }
        if script.conditions.is_open() {
            return Err(Reason::Message("the script ends within \\if; \\endif is missing".to_owned()).into());
        }
        if let Some(item) = script.end() {
            self.one(item, script, name).await?;
        }
        Ok(())
    }

    /// Runs what is complete in a script that is called `name`.
    ///
    /// # Errors
    ///
    /// The first failure, unless `ON_ERROR_STOP` is off.
    pub(crate) async fn items(&mut self, script: &mut Script, name: Option<&str>) -> Result<Flow, Failure> {
        while let Some(item) = script.next(&self.variables) {
            if self.one(item, script, name).await? == Flow::Leave {
                return Ok(Flow::Leave);
            }
        }
        Ok(Flow::Stay)
    }

    async fn one(&mut self, item: Item, script: &mut Script, name: Option<&str>) -> Result<Flow, Failure> {
        let (Item::Statement { line, .. } | Item::Meta { line, .. }) = item;
        if let Item::Statement { sql, .. } = &item
            && self.variables.get("ECHO") == Some("queries")
        {
            note(sql);
        }
        let done = match item {
            Item::Statement { sql, .. } => {
                let sql = if script.is_dump { in_text_format(sql) } else { sql };
                self.statement(&sql).await.map(|()| Flow::Stay)
            }
            // A file may name files: the future would contain itself.
            Item::Meta { text, .. } => Box::pin(super::meta::run(self, script, &text)).await,
        };
        script.skip_lines(std::mem::take(&mut self.data_lines));
        done.or_else(|failure| {
            let failure = match name {
                Some(name) => failure.at(name, line),
                None => failure,
            };
            let goes_on = self.variables.get("ON_ERROR_STOP").and_then(truth) == Some(false);
            if !goes_on || failure.is_fatal() || failure.exit_code() == EXIT_INTERRUPTED {
                return Err(failure);
            }
            note(&format!("error: {failure}"));
            Ok(Flow::Stay)
        })
    }

    /// A file that a script names by its place beside the script.
    pub(super) fn beside_script(&self, name: &str) -> PathBuf {
        match &self.directory_of_script {
            Some(directory) => directory.join(name),
            None => PathBuf::from(name),
        }
    }
}

/// A COPY FROM STDIN with the format that the data of a dump have, unless it says one.
fn in_text_format(sql: String) -> String {
    let says_nothing = sql.split_ascii_whitespace().next_back().is_some_and(|word| word.eq_ignore_ascii_case("stdin"));
    if says_nothing && first_word(&sql) == "copy" { sql + " WITH (FORMAT text)" } else { sql }
}
