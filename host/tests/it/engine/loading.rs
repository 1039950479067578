//! What is a guest, and what is refused in a sentence.
