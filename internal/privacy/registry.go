package privacy

import (
	"fmt"
	"slices"
	"strings"
)

// Sentences of the certificate that several tables share.
const (
	// Acts is for columns with the DID of an actor.
	Acts = "What it did itself stays with its DID: that it made, changed, collected, sent or decided something, and when."
	// Elsewhere is for what people write into records about others.
	Elsewhere = "What was written about it in the records of others stays, such as the reason for a change of its project."
	// Reports is for the results of the rows of an import, a batch or a migration.
	Reports = "Reports of imports and migrations that name its DID stay until they expire."
)

// Why columns hold nothing about a person.
const (
	Ours    = "ids, states and numbers that this server gives"
	Keyed   = "hashes under a key that is not in the store, and what such a key seals for the server itself"
	Request = "the id of a request, for the log"
	Program = "the words of a programme about its own work: it describes kinds of things, not people"
)

// Table says what the columns of a table can hold about a person. The one
// without a name is for data outside tables.
type Table struct {
	Name  string
	Rules []Rule
}

// Rule is about some columns of a table. A column may have two rules when rows
// of the subject are erased and those of others stay.
type Rule struct {
	Columns []string
	// Part removes it when a person is erased: a name in the counts of the
	// certificate, or one of those below. "" when nothing does.
	Part string
	// Stays is the sentence of the certificate about it, "" when nothing stays.
	// With Of the certificate has it only when that part found something.
	Stays, Of string
	// Why says, for columns that are neither erased nor stay, why they hold
	// nothing about a person.
	Why string
}

// Parts that are no count of the certificate.
const (
	Twin   = "twin"   // the twin itself, if the subject has one
	Person = "person" // the twin, if it is that of a person or a household
	Thing  = "thing"  // the twin, if it is that of anything else
	Copies = "copies" // copies of records, removed in the background
)

// None declares columns that hold nothing about a person, and why.
func None(why, columns string) Rule { return Rule{Columns: strings.Fields(columns), Why: why} }

// Erased declares columns that a part removes.
func Erased(part, columns string) Rule {
	return Rule{Columns: strings.Fields(columns), Part: part}
}

// Kept declares columns that stay, with the sentence of the certificate for the
// case that the part of found something; "" means always.
func Kept(of, sentence, columns string) Rule {
	return Rule{Columns: strings.Fields(columns), Stays: sentence, Of: of}
}

// Registry is the declarations about all tables.
type Registry struct{ tables []Table }

// Join makes a Registry from declarations. It refuses a table that is declared
// twice, and rules that are empty or contradict each other.
func Join(lists ...[]Table) (Registry, error) {
	r := Registry{tables: slices.Concat(lists...)}
	seen := map[string]bool{}
	for _, t := range r.tables {
		if seen[t.Name] && t.Name != "" {
			return Registry{}, fmt.Errorf("table %s is declared twice", t.Name)
		}
		seen[t.Name] = true
		if err := t.check(); err != nil {
			return Registry{}, fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	return r, nil
}

func (t Table) check() error {
	said := map[string]Rule{}
	for _, rule := range t.Rules {
		kinds := 0
		for _, text := range []string{rule.Part, rule.Stays, rule.Why} {
			if text != "" {
				kinds++
			}
		}
		if kinds != 1 || (len(rule.Columns) == 0) != (t.Name == "") {
			return fmt.Errorf("the rule about %v must name columns and say one thing about them", rule.Columns)
		}
		for _, c := range rule.Columns {
			before, twice := said[c]
			if twice && (before.Why != "" || rule.Why != "" || before.Part == rule.Part && before.Stays == rule.Stays) {
				return fmt.Errorf("the rules about column %s contradict or repeat each other", c)
			}
			said[c] = rule
		}
	}
	return nil
}

// Knows reports whether a column is declared.
func (r Registry) Knows(table, column string) bool {
	return slices.ContainsFunc(r.tables, func(t Table) bool {
		return t.Name == table && slices.ContainsFunc(t.Rules, func(rule Rule) bool { return slices.Contains(rule.Columns, column) })
	})
}

// Columns lists all declared columns, as table and column.
func (r Registry) Columns() [][2]string {
	var out [][2]string
	for _, t := range r.tables {
		for _, rule := range t.Rules {
			for _, c := range rule.Columns {
				if at := [2]string{t.Name, c}; !slices.Contains(out, at) {
					out = append(out, at)
				}
			}
		}
	}
	return out
}

// Parts lists the parts that remove something, and those named in Of.
func (r Registry) Parts() []string {
	var out []string
	for _, t := range r.tables {
		for _, rule := range t.Rules {
			out = append(out, rule.Part, rule.Of)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(name string) bool { return name == "" })
}

// Stays lists the sentences about what stays, each once: first those of parts
// that found something, then those that always hold. had reports whether a part
// found something, or an earlier certificate had its sentence.
func (r Registry) Stays(had func(part, sentence string) bool) []string {
	var some, always []string
	for _, t := range r.tables {
		for _, rule := range t.Rules {
			switch {
			case rule.Stays == "":
			case rule.Of == "":
				always = append(always, rule.Stays)
			case had(rule.Of, rule.Stays):
				some = append(some, rule.Stays)
			}
		}
	}
	return once(append(some, always...))
}

// once removes duplicates.
func once(list []string) []string {
	out := list[:0:0]
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
