package openrosa_test

import (
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/survey/openrosa"
)

func TestReadLog(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		raw    string
		active time.Duration
		place  *openrosa.Place
	}{
		"as Collect writes it": {
			"event,node,start,end,latitude,longitude,accuracy\n" +
				"form start,,1000,,-1.20,36.70,40\n" +
				"question,/data/a,1000,5000,-1.25,36.75,5\n" +
				"question,/data/b,4000,9000,-1.26,36.76,9\n" + // overlaps: counted once
				"end screen,,9000,90000,,,\n" +
				"group questions,/data/c,100000,102000,,,\n", 10 * time.Second, &openrosa.Place{Lat: -1.25, Lon: 36.75, Accuracy: 5},
		},
		"without places":     {"event,node,start,end\nquestion,/data/a,1000,3000\n", 2 * time.Second, nil},
		"nonsense":           {"event,node,start,end,latitude,longitude,accuracy\nquestion,/data/a,9,1,999,1,1\nquestion,x,1,9999999999999,NaN,NaN,1\n\"", 0, nil},
		"no log":             {"", 0, nil},
		"columns are missed": {"event\nquestion\n", 0, nil},
	} {
		got := openrosa.ReadLog([]byte(tt.raw))
		if got.Active != tt.active || (got.Place == nil) != (tt.place == nil) || got.Place != nil && *got.Place != *tt.place {
			t.Errorf("%s: %+v %+v, want %v %+v", name, got, got.Place, tt.active, tt.place)
		}
	}
}
