export * from './contract.ts'
export { default } from './plugin.ts'
export { PluginKey, type PluginKeyParts, pluginKeySetting } from './secrets/plugin-key.ts'
export { SealedBox } from './secrets/sealed-box.ts'
