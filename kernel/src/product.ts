import type { JsonValue } from '@plinth/config-schema'
import { type ConfigSource, type Surroundings, sourcesOf } from '@plinth/config-schema/reading'
import { taskNameProblems } from './bound-tasks.ts'
import { ConfigValues } from './configuration/config-values.ts'
import type { Problem } from './errors/kernel-errors.ts'
import { kernelVersion } from './kernel-plugin.ts'
import { type Plan, planProduct } from './plan.ts'
import type { Plugin, Role } from './plugin.ts'
import { nodeEnvironmentOf } from './process/process-identity.ts'

export interface ProductDeclaration {
  /** Shown in logs and in the API description. */
  readonly name: string
  /** Version of the product, not of its API. */
  readonly version?: string
  /** Every plugin of the product. The planner determines the order. */
  readonly plugins: readonly Plugin[]
  /** Values of configuration keys; `.env`, the environment, the database and `--set` override them. */
  readonly config?: Readonly<Record<string, JsonValue>>
}

const productBrand: unique symbol = Symbol.for('plinth.product')

/** A product: the list of its plugins and its location. */
export interface Product extends Required<ProductDeclaration> {
  readonly [productBrand]: true
  /** Base directory of relative paths and of `.env`. */
  readonly root: string
  /** The product file, if the product was loaded from one. */
  readonly file: string | undefined
}

/** Declares a product. Has no side effect. */
export function defineProduct(declaration: ProductDeclaration): Product {
  return Object.freeze({
    version: '0.0.0',
    config: {},
    ...declaration,
    root: process.cwd(),
    file: undefined,
    [productBrand]: true as const,
  })
}

/** True for a result of `defineProduct`, even if another copy of the kernel created it. */
export function isProduct(value: unknown): value is Product {
  const { [productBrand]: isBranded, plugins }: { [productBrand]?: unknown; plugins?: unknown } = Object(value)
  return isBranded === true && Array.isArray(plugins)
}

export interface PrepareOptions extends Pick<Surroundings, 'envFile' | 'environment' | 'set' | 'fallback'> {
  /** Roles of this process. Default: `web` and `worker`. */
  readonly roles?: readonly Role[]
  /** Reports keys that no plugin declares as warnings, for commands that explain them. */
  readonly toleratesUnknownKeys?: boolean
}

/** A product with its plan and values: all information that is available without running a plugin. */
export interface PreparedProduct {
  readonly product: Product
  readonly roles: readonly Role[]
  readonly plan: Plan
  readonly config: ConfigValues
  /** The `.env` file, which may not exist; undefined if the product uses none. */
  readonly settingsFile: ConfigSource['file']
  /** Problems of the plan and of the configuration together. */
  readonly problems: readonly Problem[]
  readonly warnings: readonly Problem[]
}

/** Plans and configures a product. Runs no code of plugins; all problems are in one list. */
export function prepareProduct(product: Product, options: PrepareOptions = {}): PreparedProduct {
  const roles = options.roles ?? ['web', 'worker']
  const plan = planProduct(product.plugins, { kernelVersion, roles })
  const { isProduction } = nodeEnvironmentOf((options.environment ?? process.env)['NODE_ENV'])
  const sources = sourcesOf({ ...product, ...options })
  const settingsFile = sources.find(({ name }) => name === 'dotenv')?.file
  const { toleratesUnknownKeys = false } = options
  const config = new ConfigValues(plan.keys, sources, { isProduction, toleratesUnknownKeys })
  // If the plan has problems, declarations may have any shape, so task names are not checked.
  const names = plan.problems.length === 0 ? taskNameProblems(config, plan.plugins) : []
  const problems = [...plan.problems, ...config.problems, ...names]
  return { product, roles, plan, config, settingsFile, problems, warnings: [...plan.warnings, ...config.warnings] }
}
