import { definePlugin, defineProduct, type Plugin, type PluginDeclaration } from '@plinth/kernel'

type Declaration = PluginDeclaration

/** Returns a plugin with the given members. Its required members are valid by default. */
export function createSamplePlugin(id: string, members: Partial<Declaration> = {}): Plugin {
  return definePlugin({ id, version: '1.0.0', kernel: '^1.0.0', ...members } as Declaration)
}

/** Returns a product with the given plugins. */
export function productOf(plugins: readonly Plugin[], config: Readonly<Record<string, string | number>> = {}) {
  return defineProduct({ name: 'sample', plugins, config })
}
