import type { EventRef } from './contract.ts'
import { eventsError } from './declarations.ts'

/** The types of events that this process declares or publishes. Each has one schema. */
export class PublishedTypes {
  readonly #schemas = new Map<string, EventRef['schema']>()
  readonly #declared = new Set<string>()

  /** Ids of the declared types. */
  get declared(): ReadonlySet<string> {
    return this.#declared
  }

  /** @throws PlinthError `PLINTH_EVENTS_SCHEMA` if the type was published or declared with another schema */
  declare(ref: EventRef): void {
    this.assertSchema(ref)
    this.#declared.add(ref.id)
  }

  /** @throws PlinthError `PLINTH_EVENTS_SCHEMA` if the type was published or declared with another schema */
  assertSchema({ id, schema }: EventRef): void {
    if (this.differs({ id, schema })) throw eventsError('PLINTH_EVENTS_SCHEMA', { event: id })
    // The latest object is stored, because it is compared without its content the next time.
    this.#schemas.set(id, schema)
  }

  /** Returns true if the type is known with another schema. */
  differs({ id, schema }: EventRef): boolean {
    const known = this.#schemas.get(id)
    return known !== undefined && known !== schema && contentOf(known) !== contentOf(schema)
  }
}

const annotations: ReadonlySet<string> = new Set(['title', 'description', 'examples'])

/** Returns a schema as text without the annotations, which do not affect validation. */
const contentOf = (schema: EventRef['schema']): string =>
  JSON.stringify(schema, (name, value: unknown) =>
    annotations.has(name) && (typeof value === 'string' || Array.isArray(value)) ? undefined : value,
  )
