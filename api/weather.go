package api

// Weather is the answer of GET /weather/now. Its status is 200 even when there
// is none, as its clients expect.
type Weather struct {
	OK         bool     `json:"ok"`
	City       string   `json:"city,omitempty" example:"Nairobi"`
	TempC      *float64 `json:"temp_c,omitempty" doc:"Degrees Celsius, always." example:"21.4"`
	Units      string   `json:"units,omitempty" doc:"What the operator calls the unit." example:"celsius"`
	Conditions string   `json:"conditions,omitempty" example:"partly cloudy"`
	Latitude   *float64 `json:"latitude,omitempty" example:"-1.28333"`
	Longitude  *float64 `json:"longitude,omitempty" example:"36.81667"`
	Error      string   `json:"error,omitempty" doc:"Why there is none, where ok is false."`
}
