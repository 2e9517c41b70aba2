package extend

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/plugin"
)

// Limits of a manifest.
const (
	maxPluginName = 40
	maxSummary    = 120 // characters
)

var (
	namePattern = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	pathPattern = regexp.MustCompile(`^/[a-z][a-z0-9-]*(/([A-Za-z0-9._~-]+|\{[a-zA-Z][a-zA-Z0-9]*\}))*$`)
)

// checkManifest fills in the defaults of a manifest and says what is wrong with
// it.
func checkManifest(m *plugin.Manifest) error {
	if m.Visibility == "" {
		m.Visibility = plugin.OnDemand
	}
	if m.Stability == "" {
		m.Stability = plugin.Stable
	}
	var bad []error
	want := func(ok bool, text string) {
		if !ok {
			bad = append(bad, errors.New("manifest: "+text))
		}
	}
	want(len(m.Name) <= maxPluginName && namePattern.MatchString(m.Name),
		fmt.Sprintf("the name %q must be lower-case words with hyphens between them, at most %d characters", m.Name, maxPluginName))
	want(m.Title != "", "there is no title")
	want(m.Summary != "" && utf8.RuneCountInString(m.Summary) <= maxSummary, fmt.Sprintf("the summary must have 1 to %d characters", maxSummary))
	want(slices.Contains([]plugin.Stability{plugin.Stable, plugin.Beta, plugin.Experimental}, m.Stability), fmt.Sprintf("there is no stability %q", m.Stability))
	for _, tag := range m.Tags {
		want(tag != "" && tag == strings.ToLower(tag), fmt.Sprintf("the tag %q must be in lower case", tag))
	}
	for _, e := range m.Examples {
		var args map[string]any
		want(e.Args == "" || json.Unmarshal([]byte(e.Args), &args) == nil, fmt.Sprintf("the arguments of the example %q must be a JSON object", e.User))
	}
	return errors.Join(append(bad, checkVisibility(m.Visibility))...)
}

func checkVisibility(v plugin.Visibility) error {
	switch v {
	case plugin.Always, plugin.OnDemand, plugin.Silent:
		return nil
	}
	return fmt.Errorf("visibility: want %s, %s or %s", plugin.Always, plugin.OnDemand, plugin.Silent)
}

func checkTool(t plugin.Tool, schemas *tool.Checker) error {
	switch {
	case !tool.ValidName(t.Name):
		return fmt.Errorf("tool %q: want a name of 1 to 64 letters, digits, _ and -", t.Name)
	case t.Description == "":
		return fmt.Errorf("tool %s: there is no description", t.Name)
	case t.Run == nil:
		return fmt.Errorf("tool %s: there is no Run", t.Name)
	case t.Public && !t.ReadOnly:
		return fmt.Errorf("tool %s: it changes something, so it cannot be public", t.Name)
	}
	if err := schemas.CheckSchema(schemaOf(t)); err != nil {
		return fmt.Errorf("tool %s: %w", t.Name, err)
	}
	return nil
}

func checkRoute(r plugin.Route) error {
	name := r.Method + " " + r.Path
	switch {
	case !slices.Contains([]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, r.Method):
		return fmt.Errorf("route %s: want GET, POST, PUT, PATCH or DELETE", name)
	case !pathPattern.MatchString(r.Path):
		return fmt.Errorf("route %s: want a path such as /weather/now or /notes/{id}, whose first part is lower-case letters, digits and -", name)
	case r.Summary == "":
		return fmt.Errorf("route %s: there is no summary", name)
	case r.Serve == nil:
		return fmt.Errorf("route %s: there is no Serve", name)
	}
	return nil
}

// unique finds what two plugins have by the same name.
func (s *Set) unique() []error {
	var bad []error
	owners := map[string]string{}
	claim := func(m *member, what string) {
		if other, taken := owners[what]; taken {
			bad = append(bad, fmt.Errorf("plugin %s: the %s is taken by plugin %s", m.about.Name, what, other))
		}
		owners[what] = m.about.Name
	}
	mux := http.NewServeMux()
	for _, m := range s.all {
		claim(m, "name "+m.about.Name)
		for _, t := range m.tools {
			claim(m, "tool "+t.Name)
		}
		for _, a := range m.agents {
			claim(m, "tool "+callOf(a))
		}
		for _, name := range m.inner() {
			claim(m, "tool "+name)
		}
		for _, e := range m.events {
			claim(m, "event "+e)
		}
		for _, r := range m.routes {
			if !fits(mux, r) {
				bad = append(bad, fmt.Errorf("plugin %s: the route %s %s clashes with another route of a plugin", m.about.Name, r.Method, r.Path))
			}
		}
	}
	return append(bad, s.strangers(owners)...)
}

// fits enters a route into mux and reports whether there is room for it.
func fits(mux *http.ServeMux, r plugin.Route) (ok bool) {
	defer func() { ok = recover() == nil }()
	mux.HandleFunc(r.Method+" "+r.Path, func(http.ResponseWriter, *http.Request) {})
	return true
}

// inOrder puts plugins after those they need, and else in the order they came.
func inOrder(all []*member) ([]*member, error) {
	byName := map[string]*member{}
	for _, m := range all {
		byName[m.about.Name] = m
	}
	var out []*member
	done := map[string]bool{}
	var visit func(m *member, path []string) error
	visit = func(m *member, path []string) error {
		name := m.about.Name
		if at := slices.Index(path, name); at >= 0 {
			return fmt.Errorf("plugins need each other in a circle: %s", strings.Join(append(path[at:], name), ", "))
		}
		if done[name] {
			return nil
		}
		for _, need := range m.about.Needs {
			other, there := byName[need]
			if !there {
				return fmt.Errorf("plugin %s needs the plugin %s, which is not there or switched off", name, need)
			}
			if err := visit(other, append(slices.Clone(path), name)); err != nil {
				return err
			}
		}
		done[name] = true
		out = append(out, m)
		return nil
	}
	for _, m := range all {
		if err := visit(m, nil); err != nil {
			return all, err
		}
	}
	return out, nil
}

// open makes the routes public that the operator names.
func (s *Set) open() []error {
	var bad []error
	for _, name := range s.cfg.Public {
		found := false
		for _, m := range s.all {
			for i, r := range m.routes {
				if name != r.Method+" "+r.Path {
					continue
				}
				if found = true; r.Personal {
					bad = append(bad, fmt.Errorf("HEARTH_PUBLIC_ROUTES: %s of the plugin %s is about its caller and cannot be public", name, m.about.Name))
				}
				m.routes[i].Public = true
			}
		}
		if !found {
			bad = append(bad, fmt.Errorf("HEARTH_PUBLIC_ROUTES: %s is not a route of a plugin, and no other route can be opened; want a method and the exact path, as in GET /weather/now", name))
		}
	}
	return bad
}

// reserved are first parts of paths that belong to the server, also when the area
// that has them is not served.
var reserved = []string{"v1", "api", "console", "docs", "mcp", "ag-ui", "health", "metrics"}

// Clash finds a route of a plugin whose path begins like one of the server.
// routes are all routes; those of plugins have the tag Tag.
func (s *Set) Clash(routes []web.Route) error {
	if s == nil {
		return nil
	}
	core := map[string]string{}
	for _, r := range routes {
		if r.Doc.Tag != Tag {
			core[first(r.Path)] = r.Method + " " + r.Path
		}
	}
	for _, name := range reserved {
		if core[name] == "" {
			core[name] = "/" + name
		}
	}
	var bad []error
	for _, m := range s.all {
		for _, r := range m.routes {
			if taken, ok := core[first(r.Path)]; ok {
				bad = append(bad, fmt.Errorf("plugin %s: the route %s %s begins with /%s, which belongs to the server (%s)", m.about.Name, r.Method, r.Path, first(r.Path), taken))
			}
		}
	}
	return errors.Join(bad...)
}

// first is the first part of a path.
func first(path string) string {
	part, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return part
}
