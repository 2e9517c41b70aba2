package weather

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// meteo is a server that speaks as Open-Meteo does.
type meteo struct {
	cities, forecast string // addresses
	client           *http.Client
}

var _ source = (*meteo)(nil)

// now finds the city, and then its weather.
func (m *meteo) now(ctx context.Context, city string) (report, error) {
	var found struct {
		Results []struct {
			Name      string  `json:"name"`
			Latitude  float64 `json:"latitude"`
			Longitude float64 `json:"longitude"`
		} `json:"results"`
	}
	if err := m.ask(ctx, m.cities, url.Values{"name": {city}, "count": {"1"}, "format": {"json"}}, &found); err != nil {
		return report{}, err
	}
	if len(found.Results) == 0 {
		return report{}, errUnknown
	}
	at := found.Results[0]
	var is struct {
		Current struct {
			Temperature *float64 `json:"temperature_2m"`
			Code        int      `json:"weather_code"`
		} `json:"current"`
	}
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	err := m.ask(ctx, m.forecast, url.Values{
		"latitude": {number(at.Latitude)}, "longitude": {number(at.Longitude)}, "current": {"temperature_2m,weather_code"}, "temperature_unit": {"celsius"},
	}, &is)
	if err != nil {
		return report{}, err
	}
	if is.Current.Temperature == nil {
		return report{}, errUnknown
	}
	return report{city: at.Name, tempC: *is.Current.Temperature, conditions: conditions(is.Current.Code), lat: at.Latitude, lon: at.Longitude}, nil
}

func (m *meteo) ask(ctx context.Context, address string, query url.Values, into any) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	u.RawQuery = query.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	answer, err := m.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the source answered %s", answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// conditions are the words for a WMO code of present weather, as Open-Meteo gives
// them.
func conditions(code int) string {
	for _, c := range codes {
		if code >= c.from && code <= c.to {
			return c.words
		}
	}
	return "unknown"
}

var codes = []struct {
	from, to int
	words    string
}{
	{0, 0, "clear sky"},
	{1, 1, "mainly clear"},
	{2, 2, "partly cloudy"},
	{3, 3, "overcast"},
	{45, 48, "fog"},
	{51, 55, "drizzle"},
	{56, 57, "freezing drizzle"},
	{61, 65, "rain"},
	{66, 67, "freezing rain"},
	{71, 75, "snow"},
	{77, 77, "snow grains"},
	{80, 82, "rain showers"},
	{85, 86, "snow showers"},
	{95, 95, "thunderstorm"},
	{96, 99, "thunderstorm with hail"},
}
