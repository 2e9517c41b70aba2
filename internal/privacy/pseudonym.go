package privacy

import "slices"

// PII is the scope of callers who may know who is who.
const PII = "responses:pii"

// Names makes the pseudonym of a household in one project.
type Names func(household string) string

// Household is the pseudonym of a household; "" stays.
func (n Names) Household(id string) string {
	if id == "" {
		return ""
	}
	return n(id)
}

// Person is the pseudonym of a person who collected, sent or decided; "" stays.
func (n Names) Person(id string) string { return n.of("pe_", "person", id) }

// Device is the pseudonym of a device that responses were sent from; "" stays.
func (n Names) Device(id string) string { return n.of("dv_", "device", id) }

// Serial is the pseudonym of a thing, by the number on it; "" stays.
func (n Names) Serial(id string) string { return n.of("sn_", "serial", id) }

// of keeps the kinds apart: two things of the same id have two names.
func (n Names) of(prefix, kind, id string) string {
	const own = len("hh_")
	if id == "" {
		return ""
	}
	return prefix + n(kind + "\x00" + id)[own:]
}

// Sight is the view of one caller of a project.
type Sight struct {
	Names
	self   string
	all    bool
	people bool
}

// See makes the Sight of a caller by its DID and its scopes. Callers with the
// scope PII or one of the others see who is who.
func See(self string, may func(scope string) bool, n Names, others ...string) Sight {
	return Sight{Names: n, self: self, all: may(PII) || slices.ContainsFunc(others, may)}
}

// WithPeople is the sight of a caller who works with the people of a project and
// knows them too, whether or not the households are known.
func (s Sight) WithPeople(know bool) Sight {
	s.people = know
	return s
}

// All reports whether the caller sees who is who.
func (s Sight) All() bool { return s.all }

// Person is a person as the caller may know them: everybody knows themselves.
func (s Sight) Person(id string) string {
	if s.all || s.people || id == s.self {
		return id
	}
	return s.Names.Person(id)
}

// Household is a household as the caller may know it.
func (s Sight) Household(id string) string {
	if s.all {
		return id
	}
	return s.Names.Household(id)
}

// Device is a device as the caller may know it.
func (s Sight) Device(id string) string {
	if s.all {
		return id
	}
	return s.Names.Device(id)
}

// Serial is the number on a thing as the caller may know it.
func (s Sight) Serial(text string) string {
	if s.all {
		return text
	}
	return s.Names.Serial(text)
}
