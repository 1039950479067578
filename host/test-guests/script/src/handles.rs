//! Readers and writers, by name.

use std::collections::HashMap;

use bailiwick_guest::Error;
use bailiwick_guest::bindings::bailiwick::storage::files as host;
use serde_json::json;

use crate::arguments::Step;
use crate::{Done, values};

#[derive(Default)]
pub(crate) struct Handles {
    readers: HashMap<String, host::Reader>,
    writers: HashMap<String, host::Writer>,
}

impl Handles {
    pub(crate) fn perform(&mut self, verb: &str, step: &Step) -> Done {
        match verb {
            "open-reader" => self.open_reader(step),
            "open-writer" => self.open_writer(step),
            _ if verb.starts_with("reader-") => self.reader(verb, step),
            _ => self.writer(verb, step),
        }
    }

    fn open_reader(&mut self, step: &Step) -> Done {
        let name = step.text("as")?.to_owned();
        Ok(host::open_reader(step.text("path")?).map_err(Error::from).map(|reader| {
            let file = reader.file();
            self.readers.insert(name, reader);
            values::file(file)
        }))
    }

    fn open_writer(&mut self, step: &Step) -> Done {
        let name = step.text("as")?.to_owned();
        let opened = host::open_writer(step.text("path")?, &step.condition()?);
        Ok(opened.map_err(Error::from).map(|writer| {
            self.writers.insert(name, writer);
            json!({})
        }))
    }

    fn reader(&mut self, verb: &str, step: &Step) -> Done {
        let name = step.text("on")?;
        if verb == "reader-drop" {
            self.readers.remove(name);
            return Ok(Ok(json!({})));
        }
        let reader = self.readers.get(name).ok_or_else(|| format!("no reader `{name}`"))?;
        let answer = match verb {
            "reader-file" => Ok(values::file(reader.file())),
            "reader-read" => {
                let bytes = reader.read(step.short("length", 4 << 20)?);
                bytes.map(|bytes| values::bytes(&bytes))
            }
            "reader-seek" => {
                reader.seek(step.long("offset").ok_or("no offset")?);
                Ok(json!({}))
            }
            "reader-close" => {
                reader.close();
                Ok(json!({}))
            }
            _ => return Err(format!("`{verb}` is no step").into()),
        };
        Ok(answer.map_err(Error::from))
    }

    fn writer(&mut self, verb: &str, step: &Step) -> Done {
        let name = step.text("on")?;
        if verb == "writer-drop" {
            self.writers.remove(name);
            return Ok(Ok(json!({})));
        }
        let writer = self.writers.get(name).ok_or_else(|| format!("no writer `{name}`"))?;
        let answer = match verb {
            "writer-write" => writer.write(&step.bytes()?).map(|()| json!({})),
            "writer-finish" => writer.finish().map(values::file),
            "writer-abort" => {
                writer.abort();
                Ok(json!({}))
            }
            _ => return Err(format!("`{verb}` is no step").into()),
        };
        Ok(answer.map_err(Error::from))
    }
}
