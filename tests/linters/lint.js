// Lints the document that is named, by redocly.yaml; each fault is a line, and one is enough to end with 1.
import { lint, loadConfig } from '@redocly/openapi-core';

const [document, configPath] = process.argv.slice(2);
const faults = await lint({ ref: document, config: await loadConfig({ configPath }) });
for (const { ruleId, severity, message, location: [at] } of faults)
  console.log(`${severity}: ${ruleId}: ${message} (${at?.pointer ?? at?.source.absoluteRef})`);
process.exitCode = faults.length === 0 ? 0 : 1;
