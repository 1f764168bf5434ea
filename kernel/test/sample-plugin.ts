import { definePlugin, defineProduct, type Plugin, type PluginDeclaration } from '@plinth/kernel'

type Declaration = PluginDeclaration

/** Returns a valid plugin with these members, which a test checks. */
export function plugin(id: string, members: Partial<Declaration> = {}): Plugin {
  return definePlugin({ id, version: '1.0.0', kernel: '^1.0.0', ...members } as Declaration)
}

/** Returns a product of these plugins. */
export function productOf(plugins: readonly Plugin[], config: Readonly<Record<string, string | number>> = {}) {
  return defineProduct({ name: 'sample', plugins, config })
}
