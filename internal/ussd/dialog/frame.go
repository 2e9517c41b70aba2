package dialog

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// columns is how wide the screen of the telephone is.
const columns = 34

// Colours, for people only.
const (
	dim    = "\x1b[2m"
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	normal = "\x1b[0m"
)

func (h *handset) paint(colour, text string) string {
	if !h.Terminal {
		return text
	}
	return colour + text + normal
}

func (h *handset) say(format string, args ...any) {
	fmt.Fprintln(h.Out, h.paint(dim, fmt.Sprintf(format, args...)))
}

func (h *handset) complain(format string, args ...any) {
	fmt.Fprintln(h.Out, h.paint(red, "! "+fmt.Sprintf(format, args...)))
}

// prompt shows whether a call is up.
func (h *handset) prompt() {
	mark := "dial> "
	if h.phone.Live() {
		mark = "> "
	}
	fmt.Fprint(h.Out, h.paint(bold, mark))
}

// show draws the screen and, below it, how much room is left.
func (h *handset) show(a Answer) {
	if a.Wrong != "" && a.Text == "" {
		h.complain("%s\n%s", a.Wrong, printable(a.Raw))
		return
	}
	edge := strings.Repeat("─", columns+2)
	fmt.Fprintln(h.Out, "╭"+edge+"╮")
	for line := range strings.SplitSeq(a.Text, "\n") {
		for _, row := range wrap(printable(line), columns) {
			fmt.Fprintln(h.Out, "│ "+h.paint(bold, row)+strings.Repeat(" ", columns-cells(row))+" │")
		}
	}
	fmt.Fprintln(h.Out, "╰"+edge+"╯")
	alphabet := "GSM-7"
	if a.UCS2 {
		alphabet = "UCS-2"
	}
	status := fmt.Sprintf("%d left of %d (%s), %s", a.Limit-a.Units, a.Limit, alphabet, a.Took.Round(100*time.Microsecond))
	if h.node != "" {
		status += ", " + h.node
	}
	h.say("  %s", status)
	if a.Wrong != "" {
		h.complain("%s", a.Wrong)
	}
	if a.End {
		h.say("  The call is over.")
	}
}

// printable keeps what a server sends from steering the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == utf8.RuneError) {
			return '?'
		}
		return r
	}, s)
}

// cells is how many columns of a terminal a text takes.
func cells(s string) int {
	n := 0
	for _, r := range s {
		switch width.LookupRune(r).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}

// wrap breaks a line at spaces into rows that fit; a word that alone is too
// long is cut.
func wrap(line string, limit int) []string {
	var rows []string
	row := ""
	for _, word := range strings.Split(line, " ") {
		for cells(word) > limit {
			if row != "" {
				rows, row = append(rows, row), ""
			}
			cut := 0
			for i := range word {
				if cells(word[:i]) <= limit {
					cut = i
				}
			}
			rows, word = append(rows, word[:cut]), word[cut:]
		}
		switch {
		case row == "":
			row = word
		case cells(row)+1+cells(word) <= limit:
			row += " " + word
		default:
			rows, row = append(rows, row), word
		}
	}
	return append(rows, row)
}
