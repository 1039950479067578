// Keeps notes for its agent: `note TEXT` adds one, `find PATTERN` shows those that match.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

const notes = "/agent/notes.md"

func main() {
	input, err := io.ReadAll(os.Stdin)
	if err == nil {
		word, rest, _ := strings.Cut(strings.TrimSpace(string(input)), " ")
		err = answer(word, strings.TrimSpace(rest))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer(word, rest string) error {
	switch {
	case word == "note" && rest != "" && !strings.Contains(rest, "\n"):
		return note(rest)
	case word == "find" && rest != "":
		return find(rest)
	}
	return errors.New("the input is `note TEXT` or `find PATTERN`")
}

func note(line string) (err error) {
	file, err := os.OpenFile(notes, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// What was written is there once it is closed.
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err = fmt.Fprintf(file, "- %s\n", line); err == nil {
		fmt.Println("Noted:", line)
	}
	return err
}

func find(pattern string) error {
	wanted, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	file, err := os.Open(notes)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Println("There are no notes yet.")
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		if wanted.MatchString(lines.Text()) {
			fmt.Printf("%d: %s\n", number, lines.Text())
		}
	}
	return lines.Err()
}
