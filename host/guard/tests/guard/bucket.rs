//! A server that holds every object and answers at once: what is counted is its client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

const OBJECT: [u8; 4096] = [b'x'; 4096];

/// Serves for as long as this process lives; answers its port.
pub(crate) fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            std::thread::spawn(move || converse(client));
        }
    });
    port
}

/// Until the client hangs up.
fn converse(mut client: TcpStream) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    let mut requests = BufReader::new(client.try_clone()?);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if requests.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.and_then(|length| length.parse().ok()).unwrap_or(0);
        requests.read_exact(&mut vec![0; length])?;
        client.write_all(&answer(&head))?;
    }
}

fn answer(head: &str) -> Vec<u8> {
    let is_marker = head.lines().next().is_some_and(|line| line.contains(".bailiwick-layout"));
    let object = if is_marker { b"1\n".as_slice() } else { &OBJECT };
    let (status, range) = match head.contains("\r\nrange: ") {
        true => {
            let last = object.len() - 1;
            let range = format!("content-range: bytes 0-{last}/{}\r\n", object.len());
            ("206 Partial Content", range)
        }
        false => ("200 OK", String::new()),
    };
    let length = if head.starts_with("PUT ") { 0 } else { object.len() };
    let mut answer = format!(
        "HTTP/1.1 {status}\r\ndate: Sun, 29 Nov 2026 12:00:00 GMT\r\n\
         last-modified: Sun, 29 Nov 2026 11:00:00 GMT\r\n\
         etag: \"0123456789abcdef0123456789abcdef\"\r\n\
         x-amz-meta-bailiwick-writes: AAAAAAAA\r\ncontent-length: {length}\r\n{range}\r\n"
    )
    .into_bytes();
    if head.starts_with("GET ") {
        answer.extend(object);
    }
    answer
}
