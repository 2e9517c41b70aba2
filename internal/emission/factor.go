package emission

import "github.com/hearth-dmrv/hearth/api"

// factor is one amount times one factor, as verified reductions of fuel sales have
// it.
func factor() module {
	return module{
		EmissionModule: api.EmissionModule{
			Module: "fuel-factor", Version: "1.0", Title: "Amount of fuel times a factor", Methodology: "None: the factor is that of whoever publishes it.",
			About: "Multiplies an amount of fuel by the emissions that each kilogram avoids.",
			Not:   []string{"It knows no baseline, no leakage and no uncertainty: all of them are in the factor, or nowhere."},
		},
		fields: []field{
			amount("quantity", "Q", "kg", 1e12, "How much fuel."),
			amount("factor", "F", "kgCO2e/kg", 1e3, "Emissions that each kilogram avoids."),
		},
		constants: []constant{},
		run: func(s *sheet) outcome {
			q, f := s.get("quantity"), s.get("factor")
			e := s.step(as("E", "kgCO2e", q.times(f.quantity)), "Q × F", q, f)
			er := s.step(as("ER", "tCO2e", e.quantity), "E", e)
			return outcome{reductions: &er}
		},
	}
}
