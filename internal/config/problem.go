package config

import (
	"fmt"
	"net/url"
	"strings"
)

// Problem is one thing wrong with a configuration.
type Problem struct {
	Key    string // the name as it was given: PORT, --port or server.port
	Source string // "environment", "flag", "file hearth.yaml line 3", "" for a check over several keys
	Value  string // what was given, masked and quoted; "" when there is nothing to show
	Detail string // what is wrong and what is expected
}

// String is the problem in one line.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Key)
	if p.Source != "" {
		fmt.Fprintf(&b, " (%s)", p.Source)
	}
	b.WriteString(": ")
	if p.Value != "" {
		b.WriteString(p.Value)
		b.WriteByte(' ')
	}
	b.WriteString(p.Detail)
	return b.String()
}

// Problems is the error Load and Parse return: everything that is wrong, not
// only the first.
type Problems []Problem

// Error lists all problems, one a line.
func (ps Problems) Error() string {
	var b strings.Builder
	word := "problems"
	if len(ps) == 1 {
		word = "problem"
	}
	fmt.Fprintf(&b, "the configuration has %d %s:", len(ps), word)
	for _, p := range ps {
		b.WriteString("\n  ")
		b.WriteString(p.String())
	}
	return b.String()
}

// err is nil when there is no problem.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// shown is a value as a person may see it: masked when it is secret, without
// the password when it is an address, and never longer than a line.
func shown(s Setting, text string) string {
	if text == "" {
		return ""
	}
	if s.Secret && s.rule.name != kindURL {
		return mask
	}
	if s.rule.name == kindURL || strings.Contains(text, "@") {
		text = maskURLs(s, text)
	}
	if r := []rune(text); len(r) > 200 {
		text = string(r[:200]) + "…"
	}
	return text
}

// quoted is shown for the text of a problem.
func quoted(s Setting, text string) string {
	if text == "" {
		return `""`
	}
	return fmt.Sprintf("%q", shown(s, text))
}

// maskURLs hides user data, query values and what may be a key in the path of a
// comma separated list of addresses. What cannot be read as an address is hidden whole: it may be one
// with a stray character in the password.
func maskURLs(s Setting, text string) string {
	parts := strings.Split(text, ",")
	for i, part := range parts {
		parts[i] = maskURL(s, strings.TrimSpace(part))
	}
	return strings.Join(parts, ",")
}

func maskURL(s Setting, text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" { // not an address: a password may stand anywhere in it
		return mask
	}
	if u.User != nil {
		if _, has := u.User.Password(); has {
			u.User = url.UserPassword(u.User.Username(), mask)
		} else if u.Scheme == "nats" || u.Scheme == "tls" {
			u.User = url.User(mask) // a token stands where the user name does
		}
	}
	if u.Scheme == "http" || u.Scheme == "https" {
		u.Path, u.RawPath = maskPath(u.Path, s.Secret), ""
	}
	query := u.Query()
	for name := range query {
		if name != "sslmode" {
			query.Set(name, mask)
		}
	}
	u.RawQuery = query.Encode()
	if u.Fragment != "" {
		u.Fragment, u.RawFragment = mask, ""
	}
	// The mask is plain text for people; %2A would only puzzle them.
	return strings.ReplaceAll(u.String(), "%2A", "*")
}

// maskPath hides the path of an address: all of it, or the parts too long to be
// words. Many services put a key there.
func maskPath(path string, whole bool) string {
	if strings.Trim(path, "/") == "" {
		return path
	}
	if whole {
		return "/" + mask
	}
	const word = 16 // characters
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if len(part) > word {
			parts[i] = mask
		}
	}
	return strings.Join(parts, "/")
}

// suggest is the known name nearest to name, "" when none is near.
func suggest(name string, known []string) string { return nearest(name, known, len(name)/3) }

// nearest is the known name most similar to name within a distance of most, ""
// when there is none. Case does not matter.
func nearest(name string, known []string, most int) string {
	best, bestAt := "", most+1
	for _, k := range known {
		if len(k)-len(name) >= bestAt || len(name)-len(k) >= bestAt {
			continue // so many letters are missing already
		}
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < bestAt {
			best, bestAt = k, d
		}
	}
	return best
}

// didYouMean is the sentence that ends the text about an unknown name.
func didYouMean(best string) string {
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance is the number of characters to insert, delete, replace or swap
// with their neighbour to get from a to b.
func distance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return 100
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
