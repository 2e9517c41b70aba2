package bulk

import (
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// guesser guesses the paths for the columns of a table.
type guesser struct {
	p     *importJob
	made  *protocol.Protocol // nil when none was named
	words map[string]string  // what a column may be called → path
}

// called are names that people give columns, in small letters without signs.
var called = map[string][]string{
	"properties.name":         {"name", "fullname", "householdname", "headofhousehold", "householdhead", "jina", "nom"},
	"properties.phone":        {"phone", "phonenumber", "mobile", "mobilenumber", "telephone", "tel", "msisdn", "simu"},
	"properties.size":         {"size", "householdsize", "members", "people", "persons", "watu"},
	"properties.district":     {"district", "wilaya", "county"},
	"properties.fuelType":     {"fuel", "fueltype", "mainfuel", "kuni"},
	"properties.consent":      {"consent", "agreed", "idhini"},
	"properties.serial":       {"serial", "serialno", "serialnumber", "sn"},
	"properties.location.lat": {"lat", "latitude", "gpslat", "gpslatitude", "y"},
	"properties.location.lon": {"lon", "lng", "long", "longitude", "gpslon", "gpslongitude", "x"},
}

// codes are names of columns that hold what another system calls a twin.
var codes = []string{"id", "code", "ref", "reference", "externalid", "hhid", "hhcode", "householdid", "householdcode", "uniqueid", "plate", "number", "no"}

// maxName is how many bytes of a name are looked at.
const maxName = 300

// columns finds the path of each column. Each path is given once.
func (g *guesser) columns(all []sheet.Column) []PreviewColumn {
	g.learn()
	taken, out := map[string]bool{}, make([]PreviewColumn, len(all))
	for i, c := range all { // certain ones first
		out[i] = PreviewColumn{Name: c.Name, Path: c.Path, Is: g.certain(c)}
		if out[i].Is == "system" && !slices.Contains(decided, first(c.Path)) {
			out[i].Path = ""
		}
		if out[i].Is != "" && out[i].Path != "" {
			taken[c.Path] = true
		}
	}
	for i := range out {
		if c := &out[i]; c.Is == "" {
			c.Path, c.Is = g.guess(c.Name), "guessed"
			if c.Path == "" || taken[c.Path] {
				c.Path, c.Is = "", "unknown"
			}
			taken[c.Path] = true
		}
	}
	return out
}

// certain says what a column is when nothing has to be guessed, "" when it has.
func (g *guesser) certain(c sheet.Column) string {
	_, mapped := g.p.Mapping[c.Name]
	switch {
	case c.Name == "":
		return "unnamed"
	case mapped && c.Path == "":
		return "unknown" // it was left out on purpose
	case mapped:
		return "known"
	case strings.HasPrefix(c.Name, "_"): // how ODK, Kobo and our own tables name what they add
		return "system"
	case slices.Contains(decided, first(c.Path)):
		return "system"
	case g.known(c.Path):
		return "known"
	}
	return ""
}

func first(path string) string {
	if path == "" {
		return ""
	}
	return sheet.SplitPath(path)[0]
}

// known reports whether a record has a path.
func (g *guesser) known(path string) bool {
	parts := sheet.SplitPath(path)
	if _, member := memberKinds[parts[0]]; !member {
		return false
	}
	if len(parts) == 1 {
		return true
	}
	if parts[0] == "properties" && g.made != nil && !g.made.Open() {
		return slices.Contains(g.made.Names(), parts[1])
	}
	return true
}

// learn collects what columns may be called: properties by name and title, and
// words that people use.
func (g *guesser) learn() {
	g.words = map[string]string{}
	for path, words := range called {
		if g.known(path) {
			for _, w := range words {
				g.words[w] = path
			}
		}
	}
	for name := range memberKinds {
		if name != "properties" && name != "metadata" && name != "externalIds" && name != "relationships" {
			g.words[plain(name)] = name
		}
	}
	if g.made == nil {
		return
	}
	var doc struct {
		Properties map[string]struct {
			Title string `json:"title"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(g.made.Schema(), &doc) // titles only help
	for _, name := range g.made.Names() {
		path := pathOf("properties", name)
		for _, word := range []string{name, doc.Properties[name].Title} {
			if w := plain(word); w != "" {
				g.words[w] = path
			}
		}
	}
	for _, role := range g.made.Roles() {
		g.words[plain(role.Name)] = pathOf("relationships", role.Name)
	}
}

// guess is the path that suits the name of a column, "" when none does.
func (g *guesser) guess(name string) string {
	if len(name) > maxName {
		return "" // not a likely name of a column
	}
	word := plain(name)
	if path := g.words[word]; path != "" {
		return path
	}
	if slices.Contains(codes, word) {
		return "externalIds." + word
	}
	// "properties: size", "household size (people)": the longest word inside it.
	best := ""
	for known := range g.words {
		if len(known) >= 4 && len(known) > len(best) && strings.Contains(word, known) {
			best = known
		} else if len(known) == len(best) && known < best && strings.Contains(word, known) {
			best = known
		}
	}
	return g.words[best]
}

// plain is a name in small letters without signs.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// missing are the paths that every twin needs and no column has.
func (g *guesser) missing(columns []PreviewColumn) []string {
	has := func(path string) bool {
		return slices.ContainsFunc(columns, func(c PreviewColumn) bool { return c.Path == path || strings.HasPrefix(c.Path, path+".") })
	}
	var out []string
	if g.p.Protocol == "" && !has("protocol") {
		out = append(out, "protocol")
	}
	if g.p.Type == "" && !has("type") {
		out = append(out, "type")
	}
	if g.made == nil {
		return out
	}
	given := g.made.Defaults()
	for _, name := range g.made.Effective().Required {
		path := pathOf("properties", name)
		if _, ok := given[name]; !ok && !has(path) && !has("properties") {
			out = append(out, path)
		}
	}
	return out
}
