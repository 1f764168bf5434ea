/**
 * Stores the HTTP API of a release: `plinth openapi --product examples/quickstart/plinth.config.ts | node
 * test/release/release-freeze.ts`. Later, a test compares the API of the product with the stored one. Texts for users
 * are omitted, because they may change.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'

/** Path of the stored API. The file is JSON with one API path per line. */
export const frozenApi = join(import.meta.dirname, '..', 'fixtures', 'api-v1.openapi')

const textMembers = new Set(['summary', 'description', 'title', 'tags', 'examples', 'x-plugin'])

interface Description {
  readonly paths: Readonly<Record<string, object>>
  readonly components: object
  readonly 'x-reasons': object
}

/** Removes texts. A member with the name of a text is a text only if its value is not a schema. */
const withoutTexts = (name: string, value: unknown): unknown => {
  const isText = textMembers.has(name) && (typeof value !== 'object' || Array.isArray(value))
  return isText || name === 'x-title' ? undefined : value
}

if (import.meta.main) {
  const { paths, components, 'x-reasons': reasons } = (await json(process.stdin)) as Description
  const lines = Object.entries(paths).map(
    ([path, item]) => `${JSON.stringify(path)}:${JSON.stringify(item, withoutTexts)}`,
  )
  writeFileSync(
    frozenApi,
    `{"paths":{\n${lines.join(',\n')}\n},\n"x-reasons":${JSON.stringify(reasons)},\n"components":${JSON.stringify(components, withoutTexts)}}\n`,
  )
}
