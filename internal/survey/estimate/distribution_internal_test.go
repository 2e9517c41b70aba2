package estimate

import (
	"math"
	"testing"
)

// The values are those of R: qnorm, qt, qbeta and pt to 17 digits.
func TestQuantiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"normalQuantile(0.95)", normalQuantile(0.95), 1.6448536269514715},
		{"normalQuantile(0.975)", normalQuantile(0.975), 1.9599639845400536},
		{"normalQuantile(0.995)", normalQuantile(0.995), 2.5758293035488999},
		{"normalQuantile(0.9999)", normalQuantile(0.9999), 3.7190164854557084},
		{"normalQuantile(0.6)", normalQuantile(0.6), 0.25334710313579978},
		{"tQuantile(0.9, 1)", tQuantile(0.9, 1), 3.0776835371752544},
		{"tQuantile(0.975, 1)", tQuantile(0.975, 1), 12.706204736174694},
		{"tQuantile(0.9995, 1)", tQuantile(0.9995, 1), 636.6192487687897},
		{"tQuantile(0.9, 2)", tQuantile(0.9, 2), 1.8856180831641269},
		{"tQuantile(0.975, 2)", tQuantile(0.975, 2), 4.3026527297494619},
		{"tQuantile(0.9995, 2)", tQuantile(0.9995, 2), 31.599054576445365},
		{"tQuantile(0.9, 3)", tQuantile(0.9, 3), 1.6377443536962091},
		{"tQuantile(0.975, 3)", tQuantile(0.975, 3), 3.1824463052837078},
		{"tQuantile(0.9995, 3)", tQuantile(0.9995, 3), 12.923978636687961},
		{"tQuantile(0.9, 23)", tQuantile(0.9, 23), 1.3194602398161617},
		{"tQuantile(0.975, 23)", tQuantile(0.975, 23), 2.0686576104190482},
		{"tQuantile(0.9995, 23)", tQuantile(0.9995, 23), 3.7676268043118246},
		{"tQuantile(0.9, 31)", tQuantile(0.9, 31), 1.3094635494946456},
		{"tQuantile(0.975, 31)", tQuantile(0.975, 31), 2.0395134463964082},
		{"tQuantile(0.9995, 31)", tQuantile(0.9995, 31), 3.633456349758371},
		{"tQuantile(0.9, 47)", tQuantile(0.9, 47), 1.299824947311663},
		{"tQuantile(0.975, 47)", tQuantile(0.975, 47), 2.0117405137297655},
		{"tQuantile(0.9995, 47)", tQuantile(0.9995, 47), 3.5099012834495156},
		{"tQuantile(0.9, 59)", tQuantile(0.9, 59), 1.2960657251220529},
		{"tQuantile(0.975, 59)", tQuantile(0.975, 59), 2.000995378088267},
		{"tQuantile(0.9995, 59)", tQuantile(0.9995, 59), 3.4632103049519771},
		{"tQuantile(0.9, 260)", tQuantile(0.9, 260), 1.2848161206509128},
		{"tQuantile(0.975, 260)", tQuantile(0.975, 260), 1.9691300033601731},
		{"tQuantile(0.9995, 260)", tQuantile(0.9995, 260), 3.3283383981598922},
		{"tQuantile(0.9, 1000)", tQuantile(0.9, 1000), 1.2823987214609247},
		{"tQuantile(0.975, 1000)", tQuantile(0.975, 1000), 1.9623390808264076},
		{"tQuantile(0.9995, 1000)", tQuantile(0.9995, 1000), 3.3002826484239436},
		{"tQuantile(0.9, 1000000)", tQuantile(0.9, 1000000), 1.2815524121299389},
		{"tQuantile(0.975, 1000000)", tQuantile(0.975, 1000000), 1.9599663568141066},
		{"tQuantile(0.9995, 1000000)", tQuantile(0.9995, 1000000), 3.2905364612487213},
		{"tOutside(0.5, 1)", tOutside(0.5, 1), 0.70483276469913358},
		{"tOutside(2, 1)", tOutside(2, 1), 0.29516723530086642},
		{"tOutside(12, 1)", tOutside(12, 1), 0.052929352119179741},
		{"tOutside(0.5, 23)", tOutside(0.5, 23), 0.62182527524232833},
		{"tOutside(2, 23)", tOutside(2, 23), 0.057444548992082706},
		{"tOutside(12, 23)", tOutside(12, 23), 2.2101889236582494e-11},
		{"tOutside(0.5, 259)", tOutside(0.5, 259), 0.61749961219158167},
		{"tOutside(2, 259)", tOutside(2, 259), 0.046544445521666797},
		{"tOutside(12, 259)", tOutside(12, 259), 1.1238668566865455e-26},
		{"first(betaQuantile(0.5, 1, 0.025, 1-0.025))", first(betaQuantile(0.5, 1, 0.025, 1-0.025)), 0.00062500000000000001},
		{"first(betaQuantile(0.5, 1, 0.975, 1-0.975))", first(betaQuantile(0.5, 1, 0.975, 1-0.975)), 0.95062499999999994},
		{"first(betaQuantile(0.5, 46.6, 0.025, 1-0.025))", first(betaQuantile(0.5, 46.6, 0.025, 1-0.025)), 1.059384710201744e-05},
		{"first(betaQuantile(0.5, 46.6, 0.975, 1-0.975))", first(betaQuantile(0.5, 46.6, 0.975, 1-0.975)), 0.052750726772884504},
		{"first(betaQuantile(0.5, 800, 0.025, 1-0.025))", first(betaQuantile(0.5, 800, 0.025, 1-0.025)), 6.1398485007139012e-07},
		{"first(betaQuantile(0.5, 800, 0.975, 1-0.975))", first(betaQuantile(0.5, 800, 0.975, 1-0.975)), 0.0031359824936281104},
		{"first(betaQuantile(3, 1, 0.025, 1-0.025))", first(betaQuantile(3, 1, 0.025, 1-0.025)), 0.29240177382128663},
		{"first(betaQuantile(3, 1, 0.975, 1-0.975))", first(betaQuantile(3, 1, 0.975, 1-0.975)), 0.99159624134038737},
		{"first(betaQuantile(3, 46.6, 0.025, 1-0.025))", first(betaQuantile(3, 46.6, 0.025, 1-0.025)), 0.012915393241410408},
		{"first(betaQuantile(3, 46.6, 0.975, 1-0.975))", first(betaQuantile(3, 46.6, 0.975, 1-0.975)), 0.14087585475204834},
		{"first(betaQuantile(3, 800, 0.025, 1-0.025))", first(betaQuantile(3, 800, 0.025, 1-0.025)), 0.00077207694369767915},
		{"first(betaQuantile(3, 800, 0.975, 1-0.975))", first(betaQuantile(3, 800, 0.975, 1-0.975)), 0.0089790436968292253},
		{"first(betaQuantile(216.8, 1, 0.025, 1-0.025))", first(betaQuantile(216.8, 1, 0.025, 1-0.025)), 0.98312881309332367},
		{"first(betaQuantile(216.8, 1, 0.975, 1-0.975))", first(betaQuantile(216.8, 1, 0.975, 1-0.975)), 0.99988322726134393},
		{"first(betaQuantile(216.8, 46.6, 0.025, 1-0.025))", first(betaQuantile(216.8, 46.6, 0.025, 1-0.025)), 0.77484471831743451},
		{"first(betaQuantile(216.8, 46.6, 0.975, 1-0.975))", first(betaQuantile(216.8, 46.6, 0.975, 1-0.975)), 0.86667647113559676},
		{"first(betaQuantile(216.8, 800, 0.025, 1-0.025))", first(betaQuantile(216.8, 800, 0.025, 1-0.025)), 0.18859901141603996},
		{"first(betaQuantile(216.8, 800, 0.975, 1-0.975))", first(betaQuantile(216.8, 800, 0.975, 1-0.975)), 0.23890533208314924},
		{"first(betaQuantile(5000, 1, 0.025, 1-0.025))", first(betaQuantile(5000, 1, 0.025, 1-0.025)), 0.99926249619889185},
		{"first(betaQuantile(5000, 1, 0.975, 1-0.975))", first(betaQuantile(5000, 1, 0.975, 1-0.975)), 0.99999493645122295},
		{"first(betaQuantile(5000, 46.6, 0.025, 1-0.025))", first(betaQuantile(5000, 46.6, 0.025, 1-0.025)), 0.98794837241329381},
		{"first(betaQuantile(5000, 46.6, 0.975, 1-0.975))", first(betaQuantile(5000, 46.6, 0.975, 1-0.975)), 0.99321587058422456},
		{"first(betaQuantile(5000, 800, 0.025, 1-0.025))", first(betaQuantile(5000, 800, 0.025, 1-0.025)), 0.85307805536079773},
		{"first(betaQuantile(5000, 800, 0.975, 1-0.975))", first(betaQuantile(5000, 800, 0.975, 1-0.975)), 0.8708233795462561},
	} {
		if !(math.Abs(tt.got-tt.want) <= 1e-13*math.Abs(tt.want)) {
			t.Errorf("%s = %.17g, want %.17g", tt.name, tt.got, tt.want)
		}
	}
}

func first(x, _ float64) float64 { return x }

func TestQuantilesComeBack(t *testing.T) {
	t.Parallel()
	for _, a := range []float64{.5, 1, 2.5, 30, 1e3, 1e6} {
		for _, b := range []float64{.5, 1, 7, 250, 1e5} {
			for _, p := range []float64{1e-6, .025, .3, .5, .9, .995} {
				x, y := betaQuantile(a, b, p, 1-p)
				lower, upper := betaTails(a, b, x, y)
				// x itself is rounded: the tail moves with it by its density.
				slack := 1e-12 + 1e-15*betaPower(a, b, x, y)/min(lower, upper)
				if math.Abs(lower/p-1) > slack && math.Abs(upper/(1-p)-1) > slack {
					t.Errorf("beta(%v,%v): %v comes back as %v", a, b, p, lower)
				}
			}
		}
	}
}

func FuzzBeta(f *testing.F) {
	f.Add(2.0, 3.0, 0.1)
	f.Add(0.5, 1e6, 0.999)
	f.Fuzz(func(t *testing.T, a, b, p float64) {
		if !(a > 0.01 && a < 1e7 && b > 0.01 && b < 1e7 && p > 1e-9 && p < 1-1e-9) {
			return
		}
		x, y := betaQuantile(a, b, p, 1-p)
		if !(x >= 0 && y >= 0 && math.Abs(x+y-1) < 1e-15) {
			t.Errorf("betaQuantile(%v, %v, %v) = %v, %v", a, b, p, x, y)
		}
	})
}
