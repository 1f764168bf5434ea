import type { JsonValue } from '@plinth/config-schema'
import { type ConfigSource, type ConfigSourceInputs, sourcesOf } from '@plinth/config-schema/reading'
import { findTaskNameProblems } from './bound-tasks.ts'
import { ConfigValues } from './configuration/config-values.ts'
import { settingsFileOf, settingsFileWarnings } from './configuration/settings-file.ts'
import type { Problem } from './errors/kernel-errors.ts'
import { kernelVersion } from './kernel-plugin.ts'
import { type Plan, planProduct } from './plan.ts'
import { roles as allRoles, type Plugin, type Role } from './plugin.ts'
import { nodeEnvironmentOf } from './process/process-identity.ts'

export interface ProductDeclaration {
  /** Name that logs and the API description show. */
  readonly name: string
  /**
   * Version of the product, also in the description of its API. Default: the version in the `package.json` next to the
   * product file.
   */
  readonly version?: string
  /** Plugins of the product in any order. The planner determines the setup order. */
  readonly plugins: readonly Plugin[]
  /** Values of configuration keys. Values in `.env`, the environment, the database and `--set` override them. */
  readonly config?: Readonly<Record<string, JsonValue>>
}

const productBrand: unique symbol = Symbol.for('plinth.product')

/** A product: its plugins, values and location. */
export interface Product extends Required<ProductDeclaration> {
  readonly [productBrand]: true
  /** Directory that contains `.env`. Relative paths start here. */
  readonly root: string
  /** Path of the product file; undefined if the product was not loaded from a file. */
  readonly file: string | undefined
}

/** Version of a product that has none. */
export const noVersion = '0.0.0'

/** Declares a product. Has no side effect. */
export function defineProduct(declaration: ProductDeclaration): Product {
  return Object.freeze({
    version: noVersion,
    config: {},
    ...declaration,
    root: process.cwd(),
    file: undefined,
    [productBrand]: true as const,
  })
}

/** Returns true for a result of `defineProduct`, even if it comes from another copy of the kernel. */
export function isProduct(value: unknown): value is Product {
  const { [productBrand]: isBranded, plugins }: { [productBrand]?: unknown; plugins?: unknown } = Object(value)
  return isBranded === true && Array.isArray(plugins)
}

export interface PrepareOptions extends Pick<ConfigSourceInputs, 'envFile' | 'environment' | 'set' | 'fallback'> {
  /** Roles of this process. Default: `web` and `worker`. */
  readonly roles?: readonly Role[]
  /**
   * If true, the plugins of all roles load. Used by commands, so that they find the routes and the errors of a server.
   * `roles` still decides what the plugins do: they do not listen, and they run no background work.
   */
  readonly loadsAllRoles?: boolean
  /** If true, keys that no plugin declares are reported as warnings. Used by commands that explain such keys. */
  readonly toleratesUnknownKeys?: boolean
}

/** A product with its plan and its configuration values, before any plugin runs. */
export interface PreparedProduct {
  readonly product: Product
  readonly roles: readonly Role[]
  readonly plan: Plan
  readonly config: ConfigValues
  /** The `.env` file, which may not exist. Undefined if the product uses no `.env` file. */
  readonly settingsFile: ConfigSource['file']
  /** All problems of the plan and of the configuration. */
  readonly problems: readonly Problem[]
  readonly warnings: readonly Problem[]
}

/** Plans a product and reads its configuration, without running code of its plugins. All problems are in the result. */
export function prepareProduct(product: Product, options: PrepareOptions = {}): PreparedProduct {
  const roles = options.roles ?? ['web', 'worker']
  const plan = planProduct(product.plugins, { kernelVersion, roles: options.loadsAllRoles ? allRoles : roles })
  const { isProduction } = nodeEnvironmentOf((options.environment ?? process.env)['NODE_ENV'])
  const sources = sourcesOf({ ...product, ...options, settingsFile: settingsFileOf(product, options) })
  const source = sources.find(({ name }) => name === 'dotenv')
  const { toleratesUnknownKeys = false } = options
  const config = new ConfigValues(plan.keys, sources, { isProduction, toleratesUnknownKeys })
  // If the plan has problems, the declarations may be malformed, so the names of tasks are not checked.
  const names = plan.problems.length === 0 ? findTaskNameProblems(config, plan.plugins) : []
  const problems = [...plan.problems, ...config.problems, ...names]
  const warnings = [...plan.warnings, ...config.warnings, ...settingsFileWarnings(product, source)]
  return { product, roles, plan, config, settingsFile: source?.file, problems, warnings }
}
