// Shows /openapi.json: the calls by Swagger UI, and below them each problem with an anchor of its own.
'use strict';

const Scheme = 'urn:problem:payment-gateway:';

function element(name, text, children = []) {
  const made = document.createElement(name);
  made.textContent = text;
  made.append(...children);
  return made;
}

function showProblem({ description, properties: { type, title, status } }) {
  const shown = element('article', '', [
    element('h3', `${title.const} (${(status.enum ?? [status.const]).join(', ')})`),
    element('p', description),
    element('p', '', [element('code', type.const)]),
  ]);
  shown.id = type.const.slice(Scheme.length);
  return shown;
}

async function show() {
  const answer = await fetch('openapi.json');
  const spec = await answer.json();
  const problems = Object.values(spec.components.schemas)
    .filter(schema => schema.properties?.type?.const?.startsWith(Scheme));
  document.getElementById('problems').append(...problems.map(showProblem));
  SwaggerUIBundle({
    spec, dom_id: '#calls', defaultModelsExpandDepth: 0, validatorUrl: null,
    // The page is as high as it will be only now.
    onComplete: () => document.getElementById(location.hash.slice(1))?.scrollIntoView(),
  });
}

show();
