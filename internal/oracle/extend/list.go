package extend

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/plugin"
)

// valuesScope is what a caller needs to see how the plugins of the server are set.
// Nobody but its operators has it.
const valuesScope = "operations:read"

// Shown enters the list of plugins into a, which is the table of /v1.
func (s *Set) Shown(a *web.API, cs web.Cursors) {
	serve := func(ctx context.Context, in *struct{ web.Paging }) (web.Reply[web.Page[api.OraclePlugin]], error) {
		var after string
		return web.List(ctx, cs, in.Paging, &after, func(limit int) ([]api.OraclePlugin, string, error) {
			items, next := s.list(after, limit, web.CallerFrom(ctx).May(valuesScope))
			return items, next, nil
		})
	}
	web.Get(a, "/v1/oracle/plugins", serve, web.Doc{
		Summary: "List the plugins of the oracle, by name", Tag: "oracle", Scope: "oracle:read",
		Description: "What each adds: tools, routes and settings. The values of settings are shown only to callers with `" + valuesScope + "`, those of secrets to nobody. `GET /grants` lists the tools you let run without a question.",
	})
}

// list shows at most limit plugins whose names come after one, and the last name
// if there are more.
func (s *Set) list(after string, limit int, values bool) (items []api.OraclePlugin, next string) {
	all := slices.SortedFunc(slices.Values(s.all), func(a, b *member) int { return strings.Compare(a.about.Name, b.about.Name) })
	for _, m := range all {
		if m.about.Name <= after {
			continue
		}
		if len(items) == limit {
			return items, items[limit-1].Name
		}
		items = append(items, m.show(values))
	}
	return items, ""
}

// show is a plugin as people see it, with the values of its settings or without.
func (m *member) show(values bool) api.OraclePlugin {
	a := m.about
	out := api.OraclePlugin{
		Name: a.Name, Version: a.Version, Title: a.Title, Summary: a.Summary, WhenToUse: a.WhenToUse, Tags: a.Tags,
		Visibility: string(a.Visibility), Stability: string(a.Stability), Needs: a.Needs, Events: m.events,
		Tools: shownTools(m.tools), Agents: []api.PluginAgent{}, Routes: []api.PluginRoute{}, Settings: []api.PluginSetting{},
	}
	_, out.OwnTools = m.Plugin.(plugin.RequestTools)
	for i := range m.agents {
		a := &m.agents[i]
		out.Agents = append(out.Agents, api.PluginAgent{Name: a.Name, Description: a.Description, Tools: shownTools(a.Tools)})
	}
	for _, r := range m.routes {
		out.Routes = append(out.Routes, api.PluginRoute{Method: r.Method, Path: r.Path, Summary: r.Summary, Public: r.Public})
	}
	for _, k := range m.known {
		one := api.PluginSetting{Name: k.Name, Kind: cmp.Or(string(k.Kind), string(plugin.Text)), Secret: k.Secret, About: k.Doc}
		if !k.Secret {
			one.Default = shownValue(k.Kind, k.Default)
		}
		if values && !k.Secret {
			one.Value = shownValue(k.Kind, m.values.Text(k.Name))
		}
		out.Settings = append(out.Settings, one)
	}
	return out
}

func shownTools(tools []plugin.Tool) []api.PluginTool {
	out := make([]api.PluginTool, len(tools))
	for i, t := range tools {
		out[i] = api.PluginTool{Name: t.Name, Description: t.Description, ReadOnly: t.ReadOnly}
	}
	return out
}

// shownValue is the value of a setting without a password that may stand in it.
func shownValue(kind plugin.Kind, text string) string {
	if u, err := url.Parse(text); kind == plugin.URL && err == nil {
		return u.Redacted()
	}
	return text
}
