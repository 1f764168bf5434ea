import { definePlugin, defineProduct, type Plugin, type PluginDeclaration } from '@plinth/kernel'

type Declaration = PluginDeclaration

/** A plugin with the members that a test is about. */
export function plugin(id: string, members: Partial<Declaration> = {}): Plugin {
  return definePlugin({ id, version: '1.0.0', kernel: '^1.0.0', ...members } as Declaration)
}

/** A product of these plugins. */
export function productOf(plugins: readonly Plugin[], config: Readonly<Record<string, string | number>> = {}) {
  return defineProduct({ name: 'sample', plugins, config })
}
