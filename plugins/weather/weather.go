// Package weather is the plugin weather: the current weather of a city, as a tool
// and as the public route GET /weather/now.
//
// Figures come only from the source that the operator names; without one, no city
// is known. The source is a server, or a file of monthly normals, which needs no
// network. A server's answers are cached for a while and its calls are limited per
// minute, however many people ask us: the route is open to everybody.
package weather

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/plugin"
)

// Limits of the plugin.
const (
	maxCity   = 100 // characters of a name
	maxKept   = 1000
	keptFor   = 10 * time.Minute
	sourceGap = time.Minute // of the limit of the source
)

// Values of the setting source, beside none.
const (
	sourceNormals = "normals"
	sourceMeteo   = "open-meteo"
)

// source knows the weather of places.
type source interface {
	// now finds a city and its weather. It returns errUnknown for one it does not
	// know.
	now(ctx context.Context, city string) (report, error)
}

// report is the weather of a place.
type report struct {
	city       string
	tempC      float64
	conditions string
	lat, lon   float64
}

var (
	errUnknown = errors.New("the source does not know the city")
	errBusy    = errors.New("the source has been asked too often")
)

// Plugin is the plugin weather.
type Plugin struct {
	units  string
	source source // nil: none
	local  bool   // the source calls no other server
	limit  int    // questions to the source in a minute
	now    func() time.Time

	mu    sync.Mutex
	kept  map[string]kept
	since time.Time // when the minute began that asked counts
	asked int
}

// kept is a cached result, found or not.
type kept struct {
	report report
	err    error
	until  time.Time
}

var (
	_ plugin.Settings = (*Plugin)(nil)
	_ plugin.Checks   = (*Plugin)(nil)
	_ plugin.Starts   = (*Plugin)(nil)
	_ plugin.Tools    = (*Plugin)(nil)
	_ plugin.Routes   = (*Plugin)(nil)
)

// New makes the plugin.
func New() *Plugin { return &Plugin{now: time.Now, kept: map[string]kept{}} }

// Manifest describes the plugin.
func (p *Plugin) Manifest() plugin.Manifest {
	return plugin.Manifest{
		Name: "weather", Version: "1.0.0", Title: "Weather", Summary: "Tells the weather of a city now.",
		WhenToUse:    []string{"The user asks about the weather or the temperature of a place now."},
		WhenNotToUse: []string{"Forecasts, or the climate of a place."},
		Examples:     []plugin.Example{{User: "How warm is it in Nairobi?", Tool: "get_weather", Args: `{"city":"Nairobi"}`}},
		Tags:         []string{"weather"},
	}
}

// Settings are what an operator decides.
func (p *Plugin) Settings() []plugin.Setting {
	return []plugin.Setting{
		{Name: "source", Choices: []string{"none", sourceNormals, sourceMeteo}, Doc: "Where figures come from: none, the file of normals, or a server that speaks as Open-Meteo does. Empty: the file, where there is one."},
		{Name: "normalsFile", Doc: "CSV file of the monthly mean temperatures of cities."},
		{Name: "units", Default: "celsius", Doc: "The word for the unit of temp_c, which is always degrees Celsius."},
		{Name: "geocodingUrl", Kind: plugin.URL, Default: "https://geocoding-api.open-meteo.com/v1/search", Doc: "Address at which the source finds cities."},
		{Name: "forecastUrl", Kind: plugin.URL, Default: "https://api.open-meteo.com/v1/forecast", Doc: "Address at which the source reports the weather."},
		{Name: "perMinute", Kind: plugin.Integer, Min: 1, Max: 10000, Default: "60", Doc: "The most requests that go to the source in a minute."},
	}
}

// Check reads the file of normals without keeping it.
func (p *Plugin) Check(settings plugin.Values) error {
	_, err := readSettings(settings, p.now)
	return err
}

// Start reads the settings.
func (p *Plugin) Start(_ context.Context, host plugin.Host) error {
	set := host.Settings
	p.units, p.limit = set.Text("units"), set.Int("perMinute")
	table, err := readSettings(set, p.now)
	switch {
	case err != nil:
		return err
	case table != nil:
		p.source, p.local = table, true
	case set.Text("source") == sourceMeteo:
		p.source = &meteo{cities: set.Text("geocodingUrl"), forecast: set.Text("forecastUrl"), client: host.HTTP}
	}
	return nil
}

// readSettings reads the file of normals, if that is the source. A file that is
// named is read in any case, so that a mistake in it is reported before it is
// needed.
func readSettings(set plugin.Values, clock func() time.Time) (*normals, error) {
	path, source := set.Text("normalsFile"), set.Text("source")
	if path == "" {
		if source == sourceNormals {
			return nil, errors.New("normalsFile: is required where source is " + sourceNormals)
		}
		return nil, nil
	}
	table, err := readNormals(path, clock)
	if err != nil {
		return nil, fmt.Errorf("normalsFile: %w", err)
	}
	if source != "" && source != sourceNormals {
		return nil, nil
	}
	return table, nil
}

// Tools are the tools of the model.
func (p *Plugin) Tools() []plugin.Tool {
	return []plugin.Tool{{
		Name: "get_weather", Description: "Report the current weather of a city.", ReadOnly: true, Public: true, Outside: true,
		Output: `{"type":"object","required":["ok"],"properties":{"ok":{"type":"boolean"},"city":{"type":"string"},"temp_c":{"type":"number","description":"Degrees Celsius."},"units":{"type":"string"},` +
			`"conditions":{"type":"string"},"latitude":{"type":"number"},"longitude":{"type":"number"}}}`,
		Schema: `{"type":"object","additionalProperties":false,"required":["city"],"properties":{"city":{"type":"string","minLength":1,"maxLength":100,"description":"Name of the city."}}}`,
		Run: func(ctx context.Context, call plugin.Call) (any, error) {
			var in struct {
				City string `json:"city"`
			}
			if err := call.Read(&in); err != nil {
				return nil, err
			}
			w, err := p.weather(ctx, in.City)
			if err == nil && !w.OK {
				return nil, plugin.Invalid("%s", w.Error)
			}
			return w, err
		},
	}}
}

// Routes are the routes for programs.
func (p *Plugin) Routes() []plugin.Route {
	return []plugin.Route{{
		Method: "GET", Path: "/weather/now", Public: true, Summary: "Report the current weather of a city", Answer: api.Weather{},
		Description: "The status is 200 even when the city is missing or not known: ok is false then, and error says why. It is 503 while the source does not answer.",
		Query:       []plugin.Param{{Name: "city", Doc: "Name of the city.", Example: "Nairobi"}},
		Serve: func(r *plugin.Request) (any, error) {
			city := r.URL.Query().Get("city")
			if strings.TrimSpace(city) == "" {
				return api.Weather{Error: "Missing required query param: city"}, nil
			}
			return p.weather(r.Context(), city)
		},
	}}
}

// weather answers for a city. It returns an error only for failures that are
// neither the caller's nor the source's.
func (p *Plugin) weather(ctx context.Context, city string) (api.Weather, error) {
	city = strings.Join(strings.Fields(city), " ")
	if utf8.RuneCountInString(city) > maxCity || strings.ContainsFunc(city, unicode.IsControl) || !utf8.ValidString(city) {
		return api.Weather{Error: fmt.Sprintf("The name of a city has at most %d characters and no control characters.", maxCity)}, nil
	}
	r, err := p.find(ctx, city)
	switch {
	case errors.Is(err, errUnknown):
		return api.Weather{Error: fmt.Sprintf("Could not find weather for \"%s\".", city)}, nil
	case errors.Is(err, errBusy):
		return api.Weather{Error: "Too many requests for the weather. Try again in a minute."}, nil
	case err != nil:
		return api.Weather{}, err
	}
	return api.Weather{OK: true, City: r.city, TempC: &r.tempC, Units: p.units, Conditions: r.conditions, Latitude: &r.lat, Longitude: &r.lon}, nil
}

// find asks the source, unless it has just answered for this city.
func (p *Plugin) find(ctx context.Context, city string) (report, error) {
	if p.source == nil {
		return report{}, errUnknown
	}
	if p.local {
		return p.source.now(ctx, city)
	}
	key := strings.ToLower(city)
	p.mu.Lock()
	k, ok := p.kept[key]
	now := p.now()
	if ok && now.Before(k.until) {
		p.mu.Unlock()
		return k.report, k.err
	}
	if now.Sub(p.since) >= sourceGap {
		p.since, p.asked = now, 0
	}
	if p.asked++; p.asked > p.limit {
		p.mu.Unlock()
		return report{}, errBusy
	}
	p.mu.Unlock()
	r, err := p.source.now(ctx, city)
	if err != nil && !errors.Is(err, errUnknown) {
		return report{}, plugin.Unavailable("The source of the weather does not answer.")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.kept) >= maxKept {
		clear(p.kept)
	}
	p.kept[key] = kept{r, err, now.Add(keptFor)}
	return r, err
}
