package export_test

import (
	"encoding/xml"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

const feedPath = "/v1/surveys/s/odata"

// rows reads a table of the feed to its end, page by page. between is called
// before each page but the first.
func (r *rig) rows(t testing.TB, role, address string, between func()) (rows []map[string]any, pages int) {
	t.Helper()
	for ; pages < 100; pages++ {
		if pages > 0 && between != nil {
			between()
		}
		var p api.ODataPage
		w := r.do(t, role+" GET "+address, "", 200, &p)
		if w.Header().Get("OData-Version") != "4.0" {
			t.Errorf("%s has no OData-Version", address)
		}
		rows = append(rows, p.Value...)
		if p.NextLink == "" {
			return rows, pages + 1
		}
		u, err := url.Parse(p.NextLink)
		if err != nil {
			t.Fatal(err)
		}
		address = u.RequestURI()
	}
	t.Fatalf("%s does not end", address)
	return nil, 0
}

func filled(t testing.TB, r *rig, n int) {
	t.Helper()
	for i := range n {
		r.answer(t, fmt.Sprintf("r%d", i), i, fmt.Sprintf(`{"size":%d,"fuel":["wood",{"other":"dung"}],"phone":"+25470000%d","where":{"lat":-1.2345,"lon":36.789},"people":[{"name":"A","age":%d},{"name":"B","age":20}]}`, i, i, i))
	}
}

func TestFeed(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		filled(t, r, 7)
		r.Small()
		late := 7
		rows, pages := r.rows(t, "reader", feedPath+"/Submissions", func() { // what arrives meanwhile comes last
			r.answer(t, fmt.Sprintf("late%d", late), late, `{"size":100}`)
			late++
		})
		seen := map[string]bool{}
		for i, row := range rows {
			id, _ := row["__id"].(string)
			if seen[id] || !strings.HasPrefix(id, "rec~") {
				t.Errorf("row %d: __id = %q, want a record that was not there", i, id)
			}
			if seen[id] = true; i < 7 && (row["home_size"] != float64(i) || row["home_fuel_wood"] != true || row["home_people"] != 2.0 || row["home_where_lat"] != -1.2) {
				t.Errorf("row %d = %v", i, row)
			}
			if row["home_phone"] != nil || strings.Contains(fmt.Sprint(row["householdId"]), "household/") {
				t.Errorf("row %d tells who it is: %v", i, row)
			}
		}
		if len(rows) < 8 || pages < 2 {
			t.Errorf("%d rows on %d pages", len(rows), pages)
		}
		people, _ := r.rows(t, "reader", feedPath+"/Submissions_home_people", nil)
		if len(people) != 14 || people[2]["home_people_age"] != 1.0 || people[3]["index"] != "2" || people[3]["home_people_name"] != nil || people[2]["__Submissions_id"] != rows[1]["__id"] {
			t.Errorf("people = %d %v", len(people), people)
		}
		ids := map[string]bool{}
		for _, p := range people {
			ids[fmt.Sprint(p["__id"])] = true
		}
		if len(ids) != 14 {
			t.Errorf("%d ids of people, want 14", len(ids))
		}
		if some, _ := r.rows(t, "reader", feedPath+"/Submissions_home_people?$top=5", nil); len(some) != 5 {
			t.Errorf("$top=5 gave %d rows", len(some))
		}
		whole, _ := r.rows(t, "mia", feedPath+"/Submissions?pii=full&$expand=*&$top=2", nil)
		inside, _ := whole[1]["Submissions_home_people"].([]any)
		if len(whole) != 2 || whole[1]["__id"] != "r1" || whole[1]["home_phone"] != "+254700001" || len(inside) != 2 || inside[0].(map[string]any)["home_people_name"] != "A" {
			t.Errorf("with everything = %v", whole)
		}
	})
}

func TestFeedAsks(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		filled(t, r, 3)
		tomorrow := time.Now().AddDate(0, 0, 1).UTC().Format(time.RFC3339)
		for query, want := range map[string]int{
			"$filter=__system/submissionDate ge 2026-01-01":                                                 3,
			"$filter=__system/submissionDate gt " + tomorrow:                                                0,
			"$filter=__system/submissionDate lt " + tomorrow + " and __system/submissionDate ge 2024-01-01": 3,
			"$filter=receivedAt le 2025-01-01T00:00:00Z":                                                    0,
			"$filter=__system/updatedAt gt " + tomorrow:                                                     0,
			"$filter=__system/reviewState eq 'pending'":                                                     3,
			"$filter=__system/reviewState ne 'pending'":                                                     0,
			"$top=2":             2,
			"$top=0&$count=true": 0,
			"$count=true&$filter=__system/submissionDate lt " + tomorrow + " and receivedAt ge 2025-01-01": 3,
			"$select=home_size,__id&$format=json": 3,
		} {
			var p api.ODataPage
			r.do(t, "reader GET "+feedPath+"/Submissions?"+escaped(query), "", 200, &p)
			if len(p.Value) != want || strings.Contains(query, "$count") && (p.Count == nil || *p.Count != 3) {
				t.Errorf("%s gave %d rows, count %v, want %d", query, len(p.Value), p.Count, want)
			}
			if strings.Contains(query, "$select") && len(p.Value[0]) != 2 {
				t.Errorf("%s gave %v", query, p.Value[0])
			}
		}
		var first api.ODataPage
		r.Small()
		r.do(t, "reader GET "+feedPath+"/Submissions_home_people", "", 200, &first)
		next, _ := url.Parse(first.NextLink)
		token := next.Query().Get("$skiptoken")
		for query, code := range map[string]string{
			"/Submissions?$filter=home_size gt 3": "INVALID_PARAMETER", "/Submissions?$filter=__system/submissionDate gt x": "INVALID_PARAMETER", "/Submissions?$filter=1 eq 1 or 2 eq 2": "INVALID_PARAMETER",
			"/Submissions?$filter=__system/reviewState gt 'pending'": "INVALID_PARAMETER", "/Submissions?$select=home_phone": "INVALID_PARAMETER", "/Submissions?$top=-1": "INVALID_PARAMETER",
			"/Submissions?$skip=3": "INVALID_PARAMETER", "/Submissions?$orderby=__id": "INVALID_PARAMETER", "/Submissions?pii=all": "INVALID_PARAMETER", "/Submissions?$format=xml": "INVALID_PARAMETER",
			"/Submissions?$skiptoken=nonsense": `"query/$skiptoken"`, "/Submissions?$skiptoken=" + token: "INVALID_CURSOR", "/People": "TABLE_NOT_FOUND",
			"/Submissions_home_people?$count=true": "COUNT_NOT_POSSIBLE", "/Submissions?$count=true&$filter=__system/reviewState eq 'pending'": "COUNT_NOT_POSSIBLE",
			"/Submissions?pii=full": "SCOPE_MISSING",
		} {
			path, q, _ := strings.Cut(query, "?")
			if w := r.send(t, "reader", "GET "+feedPath+path+"?"+escaped(q), ""); w.Code < 400 || !strings.Contains(w.Body.String(), code) {
				t.Errorf("%s = %d %s, want %s", query, w.Code, w.Body, code)
			}
		}
		for role, status := range map[string]int{"exporter": 403, "elsewhere": 404} {
			for _, path := range []string{"", "/$metadata", "/Submissions"} {
				if w := r.send(t, role, "GET "+feedPath+path, ""); w.Code != status {
					t.Errorf("%s of %s = %d, want %d", path, role, w.Code, status)
				}
			}
		}
	})
}

func escaped(query string) string {
	return strings.ReplaceAll(strings.ReplaceAll(query, " ", "%20"), "'", "%27")
}

// The description names every column that rows have, and no other.
func TestFeedModel(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		filled(t, r, 1)
		for _, level := range []string{"none", "pseudonymised", "full"} {
			var model struct {
				Types []struct {
					Name       string `xml:"Name,attr"`
					Properties []struct {
						Name string `xml:"Name,attr"`
					} `xml:"Property"`
				} `xml:"DataServices>Schema>EntityType"`
			}
			if err := xml.Unmarshal(r.do(t, "mia GET "+feedPath+"/$metadata?pii="+level, "", 200, nil).Body.Bytes(), &model); err != nil {
				t.Fatal(err)
			}
			var service api.ODataService
			r.do(t, "mia GET "+feedPath+"?pii="+level, "", 200, &service)
			if len(model.Types) != 2 || len(service.Value) != 2 {
				t.Fatalf("%d types, %d tables", len(model.Types), len(service.Value))
			}
			for i, table := range service.Value {
				var p api.ODataPage
				r.do(t, "mia GET "+feedPath+"/"+table.URL, "", 200, &p)
				for _, property := range model.Types[i].Properties {
					if _, ok := p.Value[0][property.Name]; !ok {
						t.Errorf("%s: %s has no %s", level, table.Name, property.Name)
					}
				}
				if len(p.Value[0]) != len(model.Types[i].Properties) {
					t.Errorf("%s: %s has %d columns, %d are described", level, table.Name, len(p.Value[0]), len(model.Types[i].Properties))
				}
			}
		}
	})
}
