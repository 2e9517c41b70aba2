package console

import (
	"net/url"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
)

// lists are pages that have rows in the demo.
var lists = []string{"/", "/twins", "/places", "/surveys", "/desk", "/protocols", "/keys", "/calls", "/accounts", "/jobs", "/webhooks", "/audit", "/menu", "/runs"}

// filled are the pages of the demo that show most: lists with rows, and one of
// each thing that has a page of its own.
func (d *desk) filled() []string {
	d.t.Helper()
	r := read[client.Page[client.Response]](d, d.server.Key, "/v1/surveys/"+monitoring+"/responses?limit=1")
	h := read[client.Page[client.Entity]](d, d.server.Key, "/v1/entities?type=Household&limit=1")
	g := read[client.Page[client.Entity]](d, d.server.Key, "/v1/entities?type=MembershipGroup&limit=1")
	c := read[client.Page[client.Call]](d, d.server.Key, "/v1/ussd/calls?limit=1")
	if len(r.Items)*len(h.Items)*len(g.Items)*len(c.Items) == 0 {
		d.t.Fatal("the demo lacks an interview, a household, a group or a call")
	}
	twin, survey := "/twins/"+url.PathEscape(h.Items[0].DID), "/surveys/"+monitoring
	return append([]string{
		twin, twin + "?tab=timeline", twin + "?tab=history", survey, survey + "?tab=interviews", survey + "?tab=households",
		"/sampling/demo-monitoring-sample", "/sampling/new?population=5000", survey + "?tab=sensors", "/kpt", "/claims?tab=collections", "/claims?tab=credentials", "/claims?tab=rules", survey + "?tab=backchecks", survey + "?tab=flags", survey + "?tab=conflicts", "/responses/" + url.PathEscape(r.Items[0].ResponseID), "/templates/monitoring-v1",
		"/people?tab=groups&group=" + url.QueryEscape(g.Items[0].DID), "/calls/" + url.PathEscape(c.Items[0].ID),
	}, lists...)
}

// TestForEveryoneWithData holds full pages to axe-core.
func TestForEveryoneWithData(t *testing.T) {
	clienttest.Need(t)
	d := openDemo(t)
	d.everyone(d.filled())
}
