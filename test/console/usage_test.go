package console

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
)

// TestUsageChart: the page of a household draws each day of its device as the API
// sums it up, one bar a day with its number.
func TestUsageChart(t *testing.T) {
	d := open(t, "127.0.0.1")
	const home, device = "did:ixo:household/charted", "did:ixo:device/charted"
	d.must(d.server.Key, "POST", "/v1/households", `{"did":"`+home+`","name":"Amina"}`, 201)
	d.must(d.server.Key, "POST", "/v1/devices", `{"did":"`+device+`","type":"StoveUseMonitor","householdId":"`+home+`","configuration":{"samplingRate":600,"temperatureThreshold":60}}`, 201)
	var readings []string
	for day := 1; day <= 3; day++ {
		for n := range 6 * day { // hot for ever longer
			readings = append(readings, fmt.Sprintf(`{"timestamp":"2024-02-0%dT%02d:%02d:00Z","temperature":90}`, day, 8+n/6, n%6*10))
		}
		readings = append(readings, fmt.Sprintf(`{"timestamp":"2024-02-0%dT20:00:00Z","temperature":20}`, day))
	}
	d.must(d.server.Key, "POST", "/v1/devices/"+url.PathEscape(device)+"/readings", `{"readings":[`+strings.Join(readings, ",")+`]}`, 200)
	line, err := d.owner().Entities.Timeline(t.Context(), home, client.TimelineQuery{PageQuery: client.PageQuery{Limit: 200}})
	if err != nil {
		t.Fatal(err)
	}
	var events, minutes []string
	for _, i := range line.Items {
		if i.Source == "readings" {
			events, minutes = append([]string{fmt.Sprintf("%s: %d", i.ID, i.Events)}, events...), append([]string{fmt.Sprintf("%s: %v", i.ID, i.CookingMinutes)}, minutes...)
		}
	}
	if len(events) != 3 {
		t.Fatalf("days = %q", events)
	}
	d.signIn(d.server.Key)
	d.visit("/console/twins/" + url.PathEscape(home))
	d.until("the charts", `document.querySelectorAll(".usage svg").length === 2`)
	for n, want := range [][]string{events, minutes} {
		got := script[[]string](d, fmt.Sprintf(`[...document.querySelectorAll(".usage svg")[%d].querySelectorAll("title")].map((x) => x.textContent)`, n))
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("chart %d says %q, the API %q", n, got, want)
		}
	}
	d.Shot(t, "usage")
}
