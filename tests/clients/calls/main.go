// Three calls of the generated Go client: calls BASE_URL
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	client "example.org/heliograph/client"
)

func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func main() {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Args[1]}}
	api, ctx := client.NewAPIClient(configuration), context.Background()
	request := client.NewRegisterRequest()
	request.SetCapabilities([]string{"reading"})
	agent, _, err := api.AgentsAPI.RegisterAgent(ctx).RegisterRequest(*request).Execute()
	must(err)
	if !strings.HasPrefix(agent.GetDid(), "did:") {
		panic("no DID")
	}
	since := time.Date(2023, 11, 8, 0, 0, 0, 0, time.UTC)
	check, _, err := api.AccessibilityAPI.CheckAccessibility(ctx).Domain("telegram.org").Country("KE").Execute()
	must(err)
	if check.GetCountry() != "KE" {
		panic("another country")
	}
	counts, _, err := api.MeasurementsAPI.AggregateMeasurements(ctx).ProbeCc("KE").Since(since).Execute()
	must(err)
	if counts.GetDimensionCount() != 0 || counts.Result.AggregationCounts.GetMeasurementCount() != 0 {
		panic("counts of nothing")
	}
	fmt.Println("called")
}
