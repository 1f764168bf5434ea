import { createRequire } from 'node:module'
import { errorReason } from '@plinth/kernel'
import type { FastifySchema, FastifySchemaCompiler, FastifyServerOptions } from 'fastify'
import { httpError } from '../errors.ts'

type CompilersFactory = NonNullable<NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']>
type InputRoute = Parameters<FastifySchemaCompiler<FastifySchema>>[0]
type BuildSerializer = NonNullable<CompilersFactory['buildSerializer']>

interface Place {
  readonly method?: string
  readonly url?: string
  readonly httpPart?: string
  readonly httpStatus?: string
  readonly schema?: unknown
  /** Other schemas to which `schema` may refer. */
  readonly shared?: unknown
}

/** Compiled schemas. They are reused if a product restarts in the same process, for example in tests. */
const compiled = new Map<string, (value: never) => unknown>()

/**
 * Compiles the schemas of a route when the route is first used. Compiling all schemas at the start would make the start
 * a quarter longer, and loading the compilers another quarter.
 */
export class DeferredSchemas {
  readonly #compilations: (() => unknown)[] = []
  readonly #compileInput: FastifySchemaCompiler<FastifySchema>

  constructor(compileInput: FastifySchemaCompiler<FastifySchema>) {
    this.#compileInput = compileInput
  }

  /** Value of Fastify's option `schemaController.compilersFactory`. */
  readonly compilers: CompilersFactory = {
    buildValidator: () => ((route: InputRoute) => this.#defer(route, () => this.#compileInput(route))) as never,
    buildSerializer: (shared, options) => {
      let compile: ReturnType<BuildSerializer> | undefined
      return (route) =>
        this.#defer({ ...route, shared }, () => {
          compile ??= loadBuildSerializer()(shared, options)
          return compile(route)
        })
    },
  }

  /**
   * Compiles the remaining schemas.
   *
   * @throws PlinthError `PLINTH_HTTP_SCHEMA_INVALID` with all invalid schemas
   */
  compileAll(): void {
    const faults = this.#compilations.flatMap((compile) => {
      try {
        compile()
        return []
      } catch (error) {
        return [errorReason(error)]
      }
    })
    if (faults.length > 0) throw invalidSchemas(faults)
  }

  #defer<A, B>(place: Place, compile: () => (value: A) => B): (value: A) => B {
    const name = `${place.httpPart ?? 'answer'} ${JSON.stringify([place.schema, place.shared])}`
    const compileNow = () => {
      try {
        const now = compile()
        compiled.set(name, now)
        return now
      } catch (error) {
        throw new Error(`${describe(place)}: ${errorReason(error)}`, { cause: error })
      }
    }
    let used: ((value: A) => B) | undefined
    const find = () => {
      used ??= (compiled.get(name) as typeof used) ?? compileNow()
      return used
    }
    this.#compilations.push(find)
    return (value) => (used ?? find())(value)
  }
}

/** Loads the serializer compiler that belongs to the installed version of Fastify. */
function loadBuildSerializer(): BuildSerializer {
  const fastify = createRequire(import.meta.url).resolve('fastify')
  return createRequire(fastify)('@fastify/fast-json-stringify-compiler')()
}

const describe = ({ method, url, httpPart, httpStatus }: Place) =>
  `${httpPart === undefined ? `answer ${httpStatus}` : `request (${httpPart})`} of ${method} ${url}`

const invalidSchemas = (faults: readonly string[]) =>
  httpError('PLINTH_HTTP_SCHEMA_INVALID', { faults: faults.map((problem) => `\n  ${problem}`).join('') })
