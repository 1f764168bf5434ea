export function oldNodeVersion(
  found: string,
  range: string,
): { readonly needed: string; readonly found: string } | undefined
