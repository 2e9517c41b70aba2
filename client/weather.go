package client

import (
	"context"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Weather is a noun of package api.
type Weather = api.Weather

// Weather reads the weather of a city now. It needs no key. That there is none for
// the city is no error: OK says so.
func (c *Client) Weather(ctx context.Context, city string, opts ...Option) (*Weather, error) {
	return do[Weather](ctx, c, get("/weather/now", url.Values{"city": {city}}), opts)
}
