package device

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func draft(t *testing.T, body string) Draft {
	t.Helper()
	var d Draft
	if err := web.DecodeStrict([]byte(body), &d, false); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTwinOfADevice(t *testing.T) {
	t.Parallel()
	every := func(string) bool { return true }
	none := func(string) bool { return false }
	for _, tt := range []struct {
		name, body  string
		declares    func(string) bool
		props, meta string
		protocol    string
		edges       string
	}{
		{
			"bare", `{"type":"StoveUseMonitor"}`, every,
			`{"minimumDuration":300,"samplingRate":300,"temperatureThreshold":60,"transmissionMode":"realtime"}`, ``, monitorProtocol, "",
		},
		{
			"all", `{"type":"StoveUseMonitor","householdId":"did:ixo:household/1","stoveId":"did:ixo:stove/1","project":"did:ixo:project/1","serial":"S","name":"N","properties":{"battery":3},"configuration":{"samplingRate":60,"temperatureThreshold":45.5,"transmissionMode":"manual","minimumDuration":0}}`, every,
			`{"battery":3,"minimumDuration":0,"samplingRate":60,"serial":"S","temperatureThreshold":45.5,"transmissionMode":"manual"}`, `{"name":"N"}`, monitorProtocol,
			"household did:ixo:household/1, stove did:ixo:stove/1, project did:ixo:project/1",
		},
		{
			"configured by properties", `{"type":"StoveUseMonitor","properties":{"samplingRate":10}}`, every,
			`{"minimumDuration":300,"samplingRate":10,"temperatureThreshold":60,"transmissionMode":"realtime"}`, ``, monitorProtocol, "",
		},
		{"another type without a configuration", `{"type":"X","serial":"S"}`, none, `{}`, ``, applianceProtocol, ""},
		{
			"another type with one", `{"type":"X","metadata":{"a":1},"configuration":{"samplingRate":60,"temperatureThreshold":45,"transmissionMode":"batch"}}`, none,
			`{}`, `{"a":1,"configuration":{"minimumDuration":300,"samplingRate":60,"temperatureThreshold":45,"transmissionMode":"batch"}}`, applianceProtocol, "",
		},
		{"another protocol", `{"type":"StoveUseMonitor","protocol":"did:ixo:protocol/mine@1.0.0"}`, none, `{}`, ``, "did:ixo:protocol/mine@1.0.0", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := draft(t, tt.body).twin(tt.declares)
			if err != nil {
				t.Fatal(err)
			}
			var edges []string
			for _, r := range got.Relationships {
				edges = append(edges, r.Role+" "+r.Target)
			}
			if string(got.Properties.Value) != tt.props || string(got.Metadata.Value) != tt.meta || got.Protocol != tt.protocol || strings.Join(edges, ", ") != tt.edges {
				t.Errorf("twin = %s, %s, %s, %v, want %s, %s, %s, %s", got.Properties, got.Metadata, got.Protocol, edges, tt.props, tt.meta, tt.protocol, tt.edges)
			}
			// What was meant is what is read off the twin.
			e := &entity.Entity{Properties: got.Properties, Metadata: got.Metadata}
			var c fault.Checks
			if want := draft(t, tt.body).Configuration.check(&c); configurationOf(e) != want && tt.name != "configured by properties" {
				t.Errorf("configuration = %+v, want %+v", configurationOf(e), want)
			}
		})
	}
}

// Whatever stands on a twin, its configuration can be worked with.
func TestConfigurationOfOddTwins(t *testing.T) {
	t.Parallel()
	for _, props := range []string{
		``, `{}`, `{"samplingRate":0}`, `{"samplingRate":1e300}`, `{"samplingRate":"often"}`, `{"temperatureThreshold":1e9}`, `{"minimumDuration":-1}`,
		`{"transmissionMode":"smoke"}`, `[]`, `null`, `{"samplingRate":null}`,
	} {
		e := &entity.Entity{Properties: entity.Object{Value: []byte(props)}, Metadata: entity.Object{Value: []byte(`{"configuration":7}`)}}
		if got := configurationOf(e); got != standard() {
			t.Errorf("configuration of %s = %+v, want the standard one", props, got)
		}
	}
}

func TestPointersInOurWords(t *testing.T) {
	t.Parallel()
	d := entity.Draft{Relationships: edgesOf("did:ixo:household/1", "did:ixo:stove/1", "did:ixo:project/1")}
	for in, want := range map[string]string{
		"/properties/samplingRate": "/configuration/samplingRate", "/properties/serial": "/serial", "/properties/model": "/properties/model",
		"/relationships/0/target": "/householdId", "/relationships/1": "/stoveId", "/relationships/2/role": "/project", "/did": "/did",
	} {
		if got := devicePointer(d, in); got != want {
			t.Errorf("devicePointer(%s) = %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"/properties/district": "/location/district", "/properties/fuelType": "/baseline/fuelType", "/properties/size": "/size",
		"/properties/location/x": "/location/x", "/relationships/0/target": "/project", "/externalIds/a": "/externalIds/a",
	} {
		if got := householdPointer(entity.Draft{}, in); got != want {
			t.Errorf("householdPointer(%s) = %s, want %s", in, got, want)
		}
	}
	if err := inWords(nil, d, devicePointer); err != nil {
		t.Errorf("inWords(nil) = %v", err)
	}
	before := fault.New(fault.Invalid, "X", "x").With(fault.Field{Pointer: "/relationships/0/target"})
	if err := inWords(before, d, devicePointer); fault.As(err).Fields[0].Pointer != "/householdId" || before.Fields[0].Pointer == "/householdId" {
		t.Errorf("inWords() = %+v, and what it was given is now %+v", fault.As(err).Fields, before.Fields)
	}
}

func TestInstant(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2024-02-20": "2024-02-21T00:00:00.000Z", "2024-02-20T08:15:00Z": "2024-02-20T08:15:00.000Z", "2024-02-20T08:15:00.5+02:00": "2024-02-20T06:15:00.500Z",
		"2024-02-30": "", "yesterday": "", "": "", "2024-02-20 08:15:00Z": "", "1708416000": "",
	} {
		var i Instant
		err := i.UnmarshalText([]byte(text))
		got := ""
		if i.given {
			got = moment(i.end(clock())).Format(web.TimeFormat)
		}
		if got != want || err != nil || i.wrong == i.given {
			t.Errorf("%q = %q, %v, want %q", text, got, err, want)
		}
	}
	for text, ok := range map[string]bool{"60": true, "-0.5": true, "1e2": true, "": false, "NaN": false, "Inf": false, "0x1p4": false, "1_000": false, "60C": false} {
		var d Decimal
		if err := d.UnmarshalText([]byte(text)); err != nil || !d.given || d.wrong == ok {
			t.Errorf("Decimal(%q) = %+v, %v, want ok %v", text, d, err, ok)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	get := func(from, to string) (span int64, wrong bool) {
		var p period
		if from != "" && p.From.UnmarshalText([]byte(from)) != nil || to != "" && p.To.UnmarshalText([]byte(to)) != nil {
			t.Fatal("bad test")
		}
		var c fault.Checks
		a, b := p.bounds(&c, clock(), 7*24*60*60*1e9)
		return (b - a) / dayMS, c.Err("X", "x") != nil
	}
	type answer struct {
		Days  int64
		Wrong bool
	}
	for in, want := range map[[2]string]answer{
		{"", ""}: {7, false}, {"2024-02-01", "2024-02-01"}: {1, false}, {"2024-01-01", "2024-04-01"}: {92, false}, {"2024-01-01", "2024-04-02"}: {93, true},
		{"2024-02-02", "2024-02-01"}: {0, true}, {"", "2024-02-10"}: {7, false},
	} {
		days, wrong := get(in[0], in[1])
		if diff := cmp.Diff(want, answer{days, wrong}); diff != "" {
			t.Errorf("bounds(%v) (-want +got):\n%s", in, diff)
		}
	}
}
