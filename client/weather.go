package client

import (
	"context"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Weather is the type of package api.
type Weather = api.Weather

// Weather reads the current weather of a city. It needs no key. If the city is
// unknown, that is not an error: OK says so.
func (c *Client) Weather(ctx context.Context, city string, opts ...Option) (*Weather, error) {
	return do[Weather](ctx, c, get("/weather/now", url.Values{"city": {city}}), opts)
}
