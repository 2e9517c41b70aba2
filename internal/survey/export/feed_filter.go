package export

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// feedFilter is which responses a feed has: comparisons that all hold.
type feedFilter struct {
	terms       []feedTerm
	from, until time.Time // bounds of when responses arrived; zero for none
}

// feedTerm is a comparison.
type feedTerm struct {
	name, op, text string
	at             time.Time
}

// feedNames are what a filter may name, and how many bytes of it stand before the
// slash in ODK Central.
var feedNames = map[string]string{
	"__system/submissionDate": "receivedAt", "receivedAt": "receivedAt", "__system/updatedAt": "updatedAt", "updatedAt": "updatedAt",
	"__system/reviewState": "verificationStatus", "verificationStatus": "verificationStatus",
}

var (
	termForm = regexp.MustCompile(`^\s*(\S+)\s+(eq|ne|gt|ge|lt|le)\s+('(?:[^']|'')*'|\S+?)\s*$`)
	andForm  = regexp.MustCompile(`\s+and\s+`)
)

const maxFeedTerms = 10

// parseFeedFilter reads $filter.
func parseFeedFilter(text string, c *fault.Checks) feedFilter {
	var f feedFilter
	if strings.TrimSpace(text) == "" {
		return f
	}
	bad := func(detail string) feedFilter {
		c.Add("query/$filter", "invalid", detail)
		return feedFilter{}
	}
	all := andForm.Split(text, -1)
	if len(text) > maxFilter || len(all) > maxFeedTerms {
		return bad("A filter has at most 10 comparisons, joined with and.")
	}
	for _, one := range all {
		m := termForm.FindStringSubmatch(one)
		if m == nil {
			return bad("A filter is one or more comparisons joined with and, as in __system/submissionDate ge 2026-01-01T00:00:00Z.")
		}
		t := feedTerm{name: feedNames[m[1]], op: m[2], text: m[3]}
		switch {
		case t.name == "":
			return bad("A filter may name __system/submissionDate, __system/updatedAt and __system/reviewState, not " + m[1] + ".")
		case t.name == "verificationStatus":
			t.text = strings.ReplaceAll(strings.Trim(t.text, "'"), "''", "'")
			if t.op != "eq" && t.op != "ne" || !slices.Contains(states, t.text) {
				return bad("Compare a state with eq or ne; it is one of " + strings.Join(states, ", ") + ".")
			}
		default:
			var ok bool
			if t.at, ok = feedTime(t.text); !ok {
				return bad("Write a time as 2026-01-31T08:00:00Z or 2026-01-31.")
			}
		}
		f.add(t)
	}
	return f
}

func feedTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func (f *feedFilter) add(t feedTerm) {
	f.terms = append(f.terms, t)
	if t.name != "receivedAt" {
		return
	}
	if t.op != "lt" && t.op != "le" && t.op != "ne" && t.at.After(f.from) {
		f.from = t.at
	}
	if t.op != "gt" && t.op != "ge" && t.op != "ne" && (f.until.IsZero() || t.at.Before(f.until)) {
		f.until = t.at
	}
}

// match reports whether a response is one of the feed.
func (f *feedFilter) match(r *response.Row) (bool, error) {
	for i := range f.terms {
		if !f.terms[i].holds(r) {
			return false, nil
		}
	}
	return true, nil
}

func (t *feedTerm) holds(r *response.Row) bool {
	if t.name == "verificationStatus" {
		return (r.VStatus == t.text) == (t.op == "eq")
	}
	ms := r.ReceivedAt
	if t.name == "updatedAt" {
		ms = r.UpdatedAt
	}
	order := time.UnixMilli(ms).Compare(t.at)
	switch t.op {
	case "eq":
		return order == 0
	case "ne":
		return order != 0
	case "gt":
		return order > 0
	case "ge":
		return order >= 0
	case "lt":
		return order < 0
	}
	return order <= 0
}
