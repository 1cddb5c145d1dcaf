"""Three calls of the generated Python client: python call.py FOLDER BASE_URL"""

import sys

folder, base = sys.argv[1:3]
sys.path.insert(0, folder)

import heliograph_client as client  # noqa: E402

with client.ApiClient(client.Configuration(host=base)) as api:
    agent = client.AgentsApi(api).register_agent(client.RegisterRequest(capabilities=["reading"]))
    assert agent.did.startswith("did:") and agent.api_key, agent
    check = client.AccessibilityApi(api).check_accessibility(domain="telegram.org", country="KE")
    assert check.country == "KE", check
    counts = client.MeasurementsApi(api).aggregate_measurements(probe_cc="KE", axis_x="probe_asn", since="2023-11-08")
    assert counts.dimension_count == 1 and counts.result.actual_instance == [], counts
print("called")
