package console

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
)

// tileServer gives every tile one colour, and counts those it gave.
func tileServer(t *testing.T) (address string, given *atomic.Int32) {
	t.Helper()
	m := image.NewUniform(color.RGBA{R: 120, G: 160, B: 120, A: 255})
	var body bytes.Buffer
	if err := png.Encode(&body, &image.Paletted{Pix: make([]uint8, 256*256), Stride: 256, Rect: image.Rect(0, 0, 256, 256), Palette: color.Palette{m.C}}); err != nil {
		t.Fatal(err)
	}
	given = &atomic.Int32{}
	path := regexp.MustCompile(`^/t/\d+/\d+/\d+\.png$`)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !path.MatchString(r.URL.Path) || r.Header.Get("Cookie") != "" || r.Header.Get("Referer") != "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		given.Add(1)
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(body.Bytes()) // the browser is gone when this fails
	}))
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "127.0.0.1", "localhost", 1), given
}

// TestTiles has a tile server lie under the map: pages may ask it for pictures and
// for nothing else, and a household stands on the tile that it is in.
func TestTiles(t *testing.T) {
	tiles, given := tileServer(t)
	d := openDemo(t, "HEARTH_CONSOLE_TILES="+tiles+"/t/{z}/{x}/{y}.png", "HEARTH_CONSOLE_TILES_CREDIT=© The map makers")
	d.elsewhere = true // the tiles
	answer, err := http.Get(d.server.URL + "/console/")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if policy := answer.Header.Get("Content-Security-Policy"); strings.Count(policy, tiles) != 1 || !strings.Contains(policy, "img-src 'self' blob: data: "+tiles+";") {
		t.Errorf("the policy is %q", policy)
	}
	homes, err := d.owner().Entities.Points(t.Context(), client.PointQuery{Type: "Household"})
	if err != nil || len(homes.Items) == 0 {
		t.Fatalf("the API gives %+v, error %v", homes, err)
	}
	d.visit("/console/places?type=Household")
	d.see("© The map makers")
	d.until("tiles", `document.querySelectorAll('.tiles-of-map image').length > 3`)
	d.until("the size of the map", `(() => { const s = document.querySelector('.places svg'); return s.viewBox.baseVal.width === s.clientWidth })()`)
	on := script[string](d, fmt.Sprintf(`(() => {
		const lat = %v, lon = %v, z = +document.querySelector('.tiles-of-map image').getAttribute('href').match(/\/t\/(\d+)\//)[1], n = 2 ** z;
		const col = Math.floor((lon + 180) / 360 * n), row = Math.floor((1 - Math.asinh(Math.tan(lat * Math.PI / 180)) / Math.PI) / 2 * n);
		const tile = document.querySelector('.tiles-of-map image[href$="/t/' + z + '/' + col + '/' + row + '.png"]')?.getBoundingClientRect();
		const m = document.querySelector('.places .mark').getBoundingClientRect(), x = m.left + m.width / 2, y = m.top + m.height / 2;
		if (!tile) return "there is no tile " + [z, col, row];
		return x >= tile.left - 1 && x <= tile.right + 1 && y >= tile.top - 1 && y <= tile.bottom + 1 ? "" : "the mark is at " + [x, y] + ", its tile " + [tile.left, tile.top, tile.right, tile.bottom];
	})()`, homes.Items[0].Lat, homes.Items[0].Lon))
	if on != "" {
		t.Error(on)
	}
	d.until("pictures", `performance.getEntriesByType("resource").some((e) => e.name.includes("/t/") && e.responseEnd > 0)`)
	d.Shot(t, "tiles")
	if given.Load() == 0 {
		t.Error("no tile was fetched")
	}
	if bad := d.Trouble(); len(bad) > 0 {
		t.Errorf("the browser complains: %q", bad)
	}
}
